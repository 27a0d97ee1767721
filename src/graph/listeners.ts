import type { DefaultAction, Forward, Listener, ObjectKey } from '../model/index.ts';
import type { Derived, Kernel, Read } from '../view/index.ts';
import type { EffectiveRows } from './effective.ts';
import { lowerCase } from './hosts.ts';
import { anyAddress, claimKey, socketKey, splitKey, tableKey } from './names.ts';
import { type References, resolveCertificate, resolveTarget } from './references.ts';
import type { ChainRow, Effective, ListenerRow, PolicyRow, RouteTableRow } from './rows.ts';
import { sameJson } from './same.ts';
import type { Services, Serving } from './services.ts';

export interface Listeners {
  /** By `socketKey`. */
  readonly listeners: Derived<ListenerRow>;
  /** By `tableKey`: the tables that some chain names, whatever the service's generation. */
  readonly servedTables: Derived<Serving>;
  /** By `tableKey`. */
  readonly routeTables: Derived<RouteTableRow>;
  /** By service key. */
  readonly policies: Derived<PolicyRow>;
}

/** What the proxies of a fleet listen on, with all that a listener names. */
export function declareListeners(
  kernel: Kernel,
  effective: EffectiveRows,
  services: Services,
  references: References,
): Listeners {
  const { facts, serving, socketOwners, sockets, tables } = services;
  const listeners = kernel.derive<ListenerRow>(
    'listeners',
    sockets,
    (read, key) => {
      const [unit = '', port = '', address = ''] = splitKey(key);
      const service = read(effective.VirtualService, unit);
      const served = read(serving, unit);
      if (service === undefined || served === undefined) return undefined;
      if (read(socketOwners, claimKey(served.fleet, Number(port), address))?.owner !== unit) return undefined;
      const chains = chainsOf(read, service, Number(port));
      if (chains.length === 0) return undefined;
      return {
        service: unit,
        generation: service.generation,
        audience: served.audience,
        address: address === anyAddress ? undefined : address,
        port: Number(port),
        chains,
        spec: service.spec,
      };
    },
    { same: sameListener },
  );

  function chainsOf(read: Read, service: Effective<'VirtualService'>, port: number): ChainRow[] {
    const here = service.spec.listeners.filter((listener) => listener.port === port);
    const [first] = here;
    if (first === undefined) return [];
    if (first.protocol === 'HTTP') {
      return [{ kind: 'http', listeners: here, table: tableKey(service.key, first), tls: undefined }];
    }
    if (first.protocol === 'HTTPS') return here.flatMap((listener) => httpsChain(read, service, listener));
    const forward = forwardOf(first.defaultAction);
    const target = resolveTarget(read, references, forward, service.scope, '', []);
    return [{ kind: 'tcp', listener: first, target }];
  }

  /** A chain none of whose certificates is there is left out: its hosts answer as soon as one appears. */
  function httpsChain(read: Read, service: Effective<'VirtualService'>, listener: Listener): ChainRow[] {
    const secrets: string[] = [];
    for (const ref of listener.certificates ?? []) {
      const resolved = resolveCertificate(read, references, ref, service.scope, '', 'pair');
      if ('facts' in resolved) secrets.push(resolved.facts.secret);
    }
    if (secrets.length === 0) return [];
    const tls = { secrets, serverNames: lowerCase(listener.hosts) };
    return [{ kind: 'http', listeners: [listener], table: tableKey(service.key, listener), tls }];
  }

  const servedTables = kernel.derive<Serving>(
    'route tables served',
    tables,
    (read, table) => {
      const [service = ''] = splitKey(table);
      const used = chainsOfService(read, { facts, listeners }, service);
      return used.some((chain) => chain.kind === 'http' && chain.table === table) ? read(serving, service) : undefined;
    },
    { same: (a, b) => a.fleet === b.fleet },
  );

  const routeTables = kernel.derive<RouteTableRow>(
    'route tables',
    servedTables,
    (read, table) => {
      const [service = ''] = splitKey(table);
      const served = read(servedTables, table);
      const generation = read(effective.VirtualService, service)?.generation;
      if (served === undefined || generation === undefined) return undefined;
      return { table, service, generation, audience: served.audience };
    },
    { same: sameJson },
  );

  const policies = kernel.derive<PolicyRow>(
    'policy slots',
    serving,
    (read, service) => {
      const served = read(serving, service);
      const generation = read(effective.VirtualService, service)?.generation;
      if (served === undefined || generation === undefined) return undefined;
      const used = new Set(chainsOfService(read, { facts, listeners }, service).map(({ kind }) => kind));
      return { service, generation, audience: served.audience, http: used.has('http'), tcp: used.has('tcp') };
    },
    { same: sameJson },
  );

  return { listeners, servedTables, routeTables, policies };
}

/** Chains of the service that some proxy has: what nobody has needs neither a route table nor a policy nor a secret. */
export function chainsOfService(
  read: Read,
  { facts, listeners }: Pick<Services, 'facts'> & Pick<Listeners, 'listeners'>,
  service: ObjectKey,
): ChainRow[] {
  const sockets = read(facts, service)?.sockets ?? [];
  return sockets.flatMap(({ port, address }) => read(listeners, socketKey(service, address, port))?.chains ?? []);
}

/** The pools of a default action, of whichever protocol. */
export function forwardOf(action: DefaultAction | undefined): readonly Forward[] {
  if (action?.pool !== undefined) return [{ pool: action.pool }];
  return action?.forward ?? [];
}

/** The spec is compared by identity: it stays the same value as long as its object does. */
function sameListener(a: ListenerRow, b: ListenerRow): boolean {
  return (
    a.spec === b.spec &&
    a.generation === b.generation &&
    a.audience === b.audience &&
    sameJson(a.chains.map(namesOf), b.chains.map(namesOf))
  );
}

/** What of a chain does not follow from the service's spec. */
function namesOf(chain: ChainRow): unknown {
  return chain.kind === 'tcp' ? chain.target : [chain.table, chain.tls?.secrets];
}
