import {
  effectiveVirtualService,
  type Listener,
  type ObjectKey,
  objectKey,
  type VirtualServiceSpec,
} from '../model/index.ts';
import type { Derived, Index, Kernel, Read } from '../view/index.ts';
import type { EffectiveRows } from './effective.ts';
import { byAge } from './effective.ts';
import { anyAddress, splitKey, tableKey } from './names.ts';
import type { Effective, ListenerFacts, ServiceFacts, SocketOwner } from './rows.ts';

/** The fleet of services that name none, where there is not exactly one. */
const fallbackFleet = 'default';

export interface Services {
  /** `*` → keys of all Fleets. */
  readonly allFleets: Index;
  readonly facts: Derived<ServiceFacts>;
  /** By `fleet|port|address`. */
  readonly socketOwners: Derived<SocketOwner>;
  /** `service|port|address` → the service. */
  readonly sockets: Index;
  /** `table` → the service. */
  readonly tables: Index;
}

/** What services listen on, and who of several that want the same socket gets it. */
export function declareServices(kernel: Kernel, effective: EffectiveRows): Services {
  const allFleets = kernel.index('all fleets', effective.Fleet, () => ['*']);

  const facts = kernel.derive<ServiceFacts>(
    'service facts',
    effective.VirtualService,
    (read, key) => {
      const service = read(effective.VirtualService, key);
      return service === undefined ? undefined : factsOf(service, fleetOf(read, allFleets, service.spec));
    },
    { same: sameFacts },
  );

  const socketClaims = kernel.index('socket claims', facts, (row: ServiceFacts) =>
    row.sockets.map(({ port, address }) => claimKey(row.fleet, port, address)),
  );
  const portClaims = kernel.index('port claims', facts, (row: ServiceFacts) =>
    row.sockets.map(({ port }) => `${row.fleet}|${port}`),
  );

  // Only a port that somebody wants on every address needs a look at all its claims together.
  const mixedPorts = kernel.derive<Readonly<Record<string, ObjectKey>>>(
    'owners of mixed ports',
    portClaims,
    (read, key) => {
      const [fleet = '', port = ''] = splitKey(key);
      if (read(socketClaims, claimKey(fleet, Number(port), anyAddress)).size === 0) return undefined;
      return decidePort(claimants(read, read(portClaims, key)), Number(port));
    },
  );

  const socketOwners = kernel.derive<SocketOwner>(
    'socket owners',
    socketClaims,
    (read, key) => {
      const [fleet = '', port = '', address = ''] = splitKey(key);
      const owners = read(mixedPorts, `${fleet}|${port}`);
      const owner = owners?.[address] ?? claimants(read, read(socketClaims, key))[0]?.key;
      return owner === undefined ? undefined : { owner };
    },
    { same: (a, b) => a.owner === b.owner },
  );

  function claimants(read: Read, keys: Iterable<ObjectKey>): ServiceFacts[] {
    const found: ServiceFacts[] = [];
    for (const key of keys) {
      const row = read(facts, key);
      if (row !== undefined) found.push(row);
    }
    return found.sort((a, b) => byAge(a.age, b.age));
  }

  const sockets = kernel.index('sockets', facts, (row: ServiceFacts) =>
    row.sockets.map(({ port, address }) => `${row.key}|${port}|${address}`),
  );
  const tables = kernel.index('tables of services', facts, (row: ServiceFacts) =>
    row.enabled ? row.listeners.flatMap((listener) => listener.table ?? []) : [],
  );
  return { allFleets, facts, socketOwners, sockets, tables };
}

function claimKey(fleet: string, port: number, address: string): string {
  return `${fleet}|${port}|${address}`;
}

/**
 * Goes through the claims on one port from the oldest to the newest: every address is in the way of each single one,
 * and the other way round; a claim that lost is in nobody's way. Address → who has it, or who is in the way.
 */
export function decidePort(claims: readonly ServiceFacts[], port: number): Readonly<Record<string, ObjectKey>> {
  const owners: Record<string, ObjectKey> = {};
  let first: ObjectKey | undefined;
  let everywhere: ObjectKey | undefined;
  for (const claim of claims) {
    for (const socket of claim.sockets) {
      if (socket.port !== port) continue;
      if (socket.address === anyAddress) {
        everywhere ??= first === undefined ? claim.key : undefined;
        owners[anyAddress] ??= everywhere ?? (first as ObjectKey);
      } else {
        owners[socket.address] ??= everywhere ?? claim.key;
        if (everywhere === undefined) first ??= claim.key;
      }
    }
  }
  return owners;
}

function fleetOf(read: Read, allFleets: Index, spec: VirtualServiceSpec): string {
  if (spec.fleet !== undefined) return spec.fleet;
  const fleets = read(allFleets, '*');
  const [only] = fleets;
  return fleets.size === 1 && only !== undefined ? only.slice(objectKey('Fleet', undefined, '').length) : fallbackFleet;
}

function factsOf(service: Effective<'VirtualService'>, fleet: string): ServiceFacts {
  const { spec } = service;
  const { enabled } = effectiveVirtualService(spec);
  const addresses = spec.addresses?.map(({ address }) => address) ?? [anyAddress];
  const ports = enabled ? [...new Set(spec.listeners.map(({ port }) => port))] : [];
  return {
    key: service.key,
    age: service.age,
    scope: service.scope,
    fleet,
    enabled,
    listeners: spec.listeners.map((listener) => listenerFacts(service, listener)),
    sockets: ports.flatMap((port) => addresses.map((address) => ({ address, port }))),
  };
}

function listenerFacts(service: Effective<'VirtualService'>, listener: Listener): ListenerFacts {
  return {
    name: listener.name,
    protocol: listener.protocol,
    port: listener.port,
    hosts: lowerCase(listener.hosts),
    table: listener.protocol === 'TCP' ? undefined : tableKey(service.key, listener),
    allowedScopes: listener.allowedRoutes?.scopes ?? [service.scope],
    allowedHosts: lowerCase(listener.allowedRoutes?.hosts),
  };
}

export function lowerCase(hosts: readonly string[] | undefined): readonly string[] | undefined {
  return hosts?.map((host) => host.toLowerCase());
}

function sameFacts(a: ServiceFacts, b: ServiceFacts): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
