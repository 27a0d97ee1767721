import { canonicalIp } from '../lib/ip.ts';
import {
  effectiveVirtualService,
  type Listener,
  type ObjectKey,
  objectKey,
  type VirtualServiceSpec,
} from '../model/index.ts';
import type { Derived, Index, Kernel, Read } from '../view/index.ts';
import { byAge, type EffectiveRows } from './effective.ts';
import { lowerCase } from './hosts.ts';
import { anyAddress, claimKey, fleetAudience, socketKey, splitKey, tableKey } from './names.ts';
import type { Effective, ListenerFacts, ServiceFacts, SocketOwner } from './rows.ts';
import { sameJson } from './same.ts';

/** The fleet of services that name none, where there is not exactly one. */
const fallbackFleet = 'default';

/** Who serves a service. */
export interface Serving {
  readonly fleet: string;
  readonly audience: string;
}

export interface Services {
  /** `*` → keys of all Fleets. */
  readonly allFleets: Index;
  /** By Fleet key: that it exists. Says nothing that an edit of the Fleet could change. */
  readonly fleets: Derived<true>;
  readonly facts: Derived<ServiceFacts>;
  /** By `claimKey`. */
  readonly socketOwners: Derived<SocketOwner>;
  /** By service key: absent unless the service is enabled, its fleet exists and one of its sockets is its own. */
  readonly serving: Derived<Serving>;
  /** `socketKey` → the service. */
  readonly sockets: Index;
  /** `tableKey` → the service. */
  readonly tables: Index;
}

/** What services listen on, and who of several that want the same socket gets it. */
export function declareServices(kernel: Kernel, effective: EffectiveRows): Services {
  const allFleets = kernel.index('all fleets', effective.Fleet, () => ['*']);
  const fleets = kernel.derive<true>('fleets that exist', effective.Fleet, () => true);

  const facts = kernel.derive<ServiceFacts>(
    'service facts',
    effective.VirtualService,
    (read, key) => {
      const service = read(effective.VirtualService, key);
      return service === undefined ? undefined : factsOf(service, fleetOf(read, allFleets, service.spec));
    },
    { same: sameJson },
  );

  const socketClaims = kernel.index('socket claims', facts, (row: ServiceFacts) =>
    row.sockets.map(({ port, address }) => claimKey(row.fleet, port, address)),
  );
  const portClaims = kernel.index('port claims', facts, (row: ServiceFacts) =>
    row.sockets.map(({ port }) => portKey(row.fleet, port)),
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
    { same: sameJson },
  );

  const socketOwners = kernel.derive<SocketOwner>(
    'socket owners',
    socketClaims,
    (read, key) => {
      const [fleet = '', port = '', address = ''] = splitKey(key);
      const owners = read(mixedPorts, portKey(fleet, Number(port)));
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

  const serving = kernel.derive<Serving>(
    'services served',
    facts,
    (read, key) => {
      const row = read(facts, key);
      if (row === undefined || read(fleets, objectKey('Fleet', undefined, row.fleet)) === undefined) return undefined;
      const owns = row.sockets.some(
        ({ port, address }) => read(socketOwners, claimKey(row.fleet, port, address))?.owner === key,
      );
      return owns ? { fleet: row.fleet, audience: fleetAudience(row.fleet) } : undefined;
    },
    { same: (a, b) => a.fleet === b.fleet },
  );

  const sockets = kernel.index('sockets', facts, (row: ServiceFacts) =>
    row.sockets.map(({ port, address }) => socketKey(row.key, address, port)),
  );
  const tables = kernel.index('tables of services', facts, (row: ServiceFacts) =>
    row.enabled ? row.listeners.flatMap((listener) => listener.table ?? []) : [],
  );
  return { allFleets, fleets, facts, socketOwners, serving, sockets, tables };
}

function portKey(fleet: string, port: number): string {
  return `${fleet}|${port}`;
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
  // One address may be written in many ways, and is one socket all the same.
  const addresses = spec.addresses?.map(({ address }) => canonicalIp(address) ?? address) ?? [anyAddress];
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
