import type { DefaultAction, Forward, Listener } from '../model/index.ts';
import type { Derived, Kernel, Read } from '../view/index.ts';
import type { EffectiveRows } from './effective.ts';
import { lowerCase } from './hosts.ts';
import { anyAddress, fleetAudience, tableKey } from './names.ts';
import { type References, resolveCertificate, resolveTarget } from './references.ts';
import type { ChainRow, Effective, ListenerRow, ServiceFacts } from './rows.ts';
import { sameJson } from './same.ts';
import { ownerOfSocket, type Services } from './services.ts';

/** What the proxies of a fleet listen on, with all that a listener names; by `socketKey`. */
export function declareListeners(
  kernel: Kernel,
  effective: EffectiveRows,
  services: Services,
  references: References,
): Derived<ListenerRow> {
  return kernel.derive<ListenerRow>(
    'listeners',
    services.sockets,
    (read, key) => {
      const [unit = ''] = read(services.sockets, key);
      const facts = read(services.facts, unit);
      const socket = facts?.sockets.find((candidate) => candidate.key === key);
      if (socket === undefined || facts?.fleetExists !== true) return undefined;
      if (ownerOfSocket(read, services, facts.fleet, socket) !== unit) return undefined;
      const { address, port } = socket;
      const service = read(effective.VirtualService, unit);
      if (service === undefined) return undefined;
      const chains = chainsOf(read, service, port);
      if (chains.length === 0) return undefined;
      return {
        service: unit,
        generation: service.generation,
        audience: fleetAudience(facts.fleet),
        address: address === anyAddress ? undefined : address,
        port,
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
}

/** Chains of the service that some proxy has: what nobody has needs neither a route table nor a policy nor a secret. */
export function chainsOfService(
  read: Read,
  listeners: Derived<ListenerRow>,
  { sockets }: Pick<ServiceFacts, 'sockets'>,
): ChainRow[] {
  return sockets.flatMap(({ key }) => read(listeners, key)?.chains ?? []);
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
