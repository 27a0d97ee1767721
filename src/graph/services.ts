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
import { anyAddress, claimKey, socketKey, splitKey, tableKey } from './names.ts';
import type { Effective, ListenerFacts, ServiceFacts, SocketFacts, SocketOwner } from './rows.ts';
import { sameJson } from './same.ts';

/** The fleet of services that name none, where there is not exactly one. */
const fallbackFleet = 'default';

export interface Services {
  /** `*` → keys of all Fleets. */
  readonly allFleets: Index;
  readonly facts: Derived<ServiceFacts>;
  /** `claimKey` → the services that want it. */
  readonly socketClaims: Index;
  /** Key of a fleet's port: that some service wants it on every address, which is in the way of all others. */
  readonly widePorts: Derived<true>;
  /** By `claimKey`, only where several claims are in each other's way: see {@link ownerOfSocket}. */
  readonly socketOwners: Derived<SocketOwner>;
  /** `socketKey` → the service. */
  readonly sockets: Index;
}

/** What services listen on, and who of several that want the same socket gets it. */
export function declareServices(kernel: Kernel, effective: EffectiveRows): Services {
  const allFleets = kernel.index('all fleets', effective.Fleet, () => ['*']);
  // Says nothing that an edit of the Fleet could change.
  const fleets = kernel.derive<true>('fleets that exist', effective.Fleet, () => true);

  const facts = kernel.derive<ServiceFacts>(
    'service facts',
    effective.VirtualService,
    (read, key) => {
      const service = read(effective.VirtualService, key);
      if (service === undefined) return undefined;
      const fleet = fleetOf(read, allFleets, service.spec);
      const fleetExists = read(fleets, objectKey('Fleet', undefined, fleet)) === true;
      return factsOf(service, fleet, fleetExists);
    },
    { same: sameJson },
  );

  const socketClaims = kernel.index('socket claims', facts, ({ sockets }: ServiceFacts) =>
    sockets.map(({ claim }) => claim),
  );
  const portClaims = kernel.index('port claims', facts, (row: ServiceFacts) =>
    row.sockets.map(({ port }) => portKey(row.fleet, port)),
  );

  // Only a port that somebody wants on every address needs a look at all its claims together.
  const widePorts = kernel.derive<true>('wide ports', portClaims, (read, key) => {
    const [fleet = '', port = ''] = splitKey(key);
    return read(socketClaims, claimKey(fleet, Number(port), anyAddress)).size > 0 || undefined;
  });
  const widePortOwners = kernel.derive<Readonly<Record<string, ObjectKey>>>(
    'owners of wide ports',
    widePorts,
    (read, key) => decidePort(claimants(read, read(portClaims, key)), Number(splitKey(key)[1])),
    { same: sameJson },
  );
  const wideSockets = kernel.index(
    'sockets of wide ports',
    widePortOwners,
    (owners: Readonly<Record<string, ObjectKey>>, port) => Object.keys(owners).map((address) => `${port}|${address}`),
  );

  const socketOwners = kernel.derive<SocketOwner>(
    'socket owners',
    [socketClaims, wideSockets],
    (read, key) => {
      const [port] = read(wideSockets, key);
      if (port !== undefined) {
        const owner = read(widePortOwners, port)?.[key.slice(port.length + 1)];
        return owner === undefined ? undefined : { owner };
      }
      const claims = read(socketClaims, key);
      const oldest = claims.size > 1 ? claimants(read, claims)[0] : undefined;
      return oldest === undefined ? undefined : { owner: oldest.key };
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

  const sockets = kernel.index('sockets', facts, (row: ServiceFacts) => row.sockets.map(({ key }) => key));
  return { allFleets, facts, socketClaims, widePorts, socketOwners, sockets };
}

/** Who serves a socket that somebody claims, or stands in the way of it. Nearly always there is one claim and no question. */
export function ownerOfSocket(
  read: Read,
  { socketClaims, widePorts, socketOwners }: Pick<Services, 'socketClaims' | 'widePorts' | 'socketOwners'>,
  fleet: string,
  { claim, port }: SocketFacts,
): ObjectKey | undefined {
  const claims = read(socketClaims, claim);
  if (claims.size > 1 || read(widePorts, portKey(fleet, port)) === true) return read(socketOwners, claim)?.owner;
  const [only] = claims;
  return only;
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

function factsOf(service: Effective<'VirtualService'>, fleet: string, fleetExists: boolean): ServiceFacts {
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
    fleetExists,
    enabled,
    listeners: spec.listeners.map((listener) => listenerFacts(service, listener)),
    sockets: ports.flatMap((port) =>
      addresses.map((address) => ({
        address,
        port,
        key: socketKey(service.key, address, port),
        claim: claimKey(fleet, port, address),
      })),
    ),
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
