import { type Listener, type ObjectKey, objectKey } from '../model/index.ts';
import type { Derived, Kernel, Read } from '../view/index.ts';
import type { EffectiveRows } from './effective.ts';
import { anyAddress, fleetAudience, socketKey, splitKey, tableKey } from './names.ts';
import { type References, resolveCertificate, resolveTarget } from './references.ts';
import type { ChainRow, Effective, ListenerRow, PolicyRow, RouteTableRow } from './rows.ts';
import type { Services } from './services.ts';

export interface Listeners {
  /** By `socketKey`. */
  readonly listeners: Derived<ListenerRow>;
  readonly routeTables: Derived<RouteTableRow>;
  readonly policies: Derived<PolicyRow>;
  /** By service key: whether its fleet is there to serve it. */
  readonly serving: Derived<{ readonly audience: string }>;
}

/** What the proxies of a fleet listen on, with all that a listener names. */
export function declareListeners(
  kernel: Kernel,
  effective: EffectiveRows,
  services: Services,
  references: References,
): Listeners {
  const serving = kernel.derive<{ readonly audience: string }>(
    'services served',
    services.facts,
    (read, key) => {
      const facts = read(services.facts, key);
      if (facts === undefined || !facts.enabled) return undefined;
      if (read(effective.Fleet, objectKey('Fleet', undefined, facts.fleet)) === undefined) return undefined;
      const owns = facts.sockets.some(
        ({ port, address }) => read(services.socketOwners, `${facts.fleet}|${port}|${address}`)?.owner === key,
      );
      return owns ? { audience: fleetAudience(facts.fleet) } : undefined;
    },
    { same: (a, b) => a.audience === b.audience },
  );

  const listeners = kernel.derive<ListenerRow>('listeners', services.sockets, (read, key) => {
    const [service = '', port = '', address = ''] = splitKey(key);
    const facts = read(services.facts, service);
    const effectiveService = read(effective.VirtualService, service);
    const served = read(serving, service);
    if (facts === undefined || effectiveService === undefined || served === undefined) return undefined;
    if (read(services.socketOwners, `${facts.fleet}|${port}|${address}`)?.owner !== service) return undefined;
    const chains = chainsOf(read, effectiveService, Number(port));
    if (chains.length === 0) return undefined;
    return {
      service,
      generation: effectiveService.generation,
      audience: served.audience,
      address: address === anyAddress ? undefined : address,
      port: Number(port),
      chains,
      spec: effectiveService.spec,
    };
  });

  function chainsOf(read: Read, service: Effective<'VirtualService'>, port: number): ChainRow[] {
    const here = service.spec.listeners.filter((listener) => listener.port === port);
    const [first] = here;
    if (first === undefined) return [];
    if (first.protocol === 'HTTP')
      return [{ kind: 'http', listeners: here, table: tableKey(service.key, first), tls: undefined }];
    if (first.protocol === 'HTTPS') return here.flatMap((listener) => httpsChain(read, service, listener));
    const forward = first.defaultAction?.pool === undefined ? [] : [{ pool: first.defaultAction.pool }];
    return [{ kind: 'tcp', listener: first, target: resolveTarget(read, references, forward, service.scope, '', []) }];
  }

  /** A chain none of whose certificates is there is left out: its hosts answer as soon as one appears. */
  function httpsChain(read: Read, service: Effective<'VirtualService'>, listener: Listener): ChainRow[] {
    const secrets: string[] = [];
    for (const ref of listener.certificates ?? []) {
      const resolved = resolveCertificate(read, references, ref, service.scope, '', 'pair');
      if ('facts' in resolved) secrets.push(resolved.facts.secret);
    }
    if (secrets.length === 0) return [];
    const serverNames = listener.hosts?.map((host) => host.toLowerCase());
    return [
      { kind: 'http', listeners: [listener], table: tableKey(service.key, listener), tls: { secrets, serverNames } },
    ];
  }

  /** Chains of the service that some proxy has; what nobody has needs neither a route table nor a policy. */
  function chainsInUse(read: Read, service: ObjectKey): ChainRow[] {
    const sockets = read(services.facts, service)?.sockets ?? [];
    return sockets.flatMap(({ port, address }) => read(listeners, socketKey(service, address, port))?.chains ?? []);
  }

  const routeTables = kernel.derive<RouteTableRow>('route tables', services.tables, (read, table) => {
    const [service = ''] = splitKey(table);
    const served = read(serving, service);
    const generation = read(effective.VirtualService, service)?.generation;
    if (served === undefined || generation === undefined) return undefined;
    const used = chainsInUse(read, service).some((chain) => chain.kind === 'http' && chain.table === table);
    return used ? { table, service, generation, audience: served.audience } : undefined;
  });

  const policies = kernel.derive<PolicyRow>('policy slots', serving, (read, service) => {
    const served = read(serving, service);
    const generation = read(effective.VirtualService, service)?.generation;
    if (served === undefined || generation === undefined) return undefined;
    const used = new Set(chainsInUse(read, service).map(({ kind }) => kind));
    return { service, generation, audience: served.audience, http: used.has('http'), tcp: used.has('tcp') };
  });

  return { listeners, routeTables, policies, serving };
}
