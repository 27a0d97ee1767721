import type { Derived, Index, Kernel, Read } from '../view/index.ts';
import { byAge } from './effective.ts';
import { anyHost } from './hosts.ts';
import { hostKey, splitKey } from './names.ts';
import type { HostOwner, RuleSet, ServiceFacts, VirtualHostRow } from './rows.ts';

export interface VirtualHosts {
  /** By `hostKey`. Absent where no rules claim the host. */
  readonly hostOwners: Derived<HostOwner>;
  /** By `hostKey`. */
  readonly virtualHosts: Derived<VirtualHostRow>;
  /** Table key → keys of its virtual hosts. */
  readonly virtualHostsOf: Index;
}

/** What of a rule set matters to others that claim the same hosts: unchanged by an edit of its rules. */
type Claim = Pick<RuleSet, 'key' | 'unit' | 'age' | 'scope' | 'attachments'>;

/**
 * Which rule sets serve each host of each route table. The oldest claim on a host owns it for its scope; rules of that
 * scope are merged, others stay out. The hosts that a listener names itself are served too, with its default action.
 */
export function declareVirtualHosts(
  kernel: Kernel,
  facts: Derived<ServiceFacts>,
  ruleSets: Derived<RuleSet>,
): VirtualHosts {
  const claims = kernel.derive<Claim>(
    'claims of rule sets',
    ruleSets,
    (read, set) => {
      const row = read(ruleSets, set);
      if (row === undefined) return undefined;
      const { key, unit, age, scope, attachments } = row;
      return { key, unit, age, scope, attachments };
    },
    { same: sameClaim },
  );
  const hostClaims = kernel.index('host claims', claims, (row: Claim) =>
    row.attachments.flatMap(({ table, hosts }) => hosts.map((host) => hostKey(table, host))),
  );
  const ownHosts = kernel.index('hosts of listeners', facts, ({ enabled, listeners }: ServiceFacts) =>
    enabled
      ? listeners.flatMap(({ table, hosts = [anyHost] }) =>
          table === undefined ? [] : hosts.map((host) => hostKey(table, host)),
        )
      : [],
  );

  /** Oldest first, inline entries of one service in the order written. */
  function claimsOn(read: Read, key: string): Claim[] {
    const found: Claim[] = [];
    for (const set of read(hostClaims, key)) {
      const row = read(claims, set);
      if (row !== undefined) found.push(row);
    }
    return found.sort((a, b) => byAge(a.age, b.age) || compareEntries(a.key, b.key));
  }

  // Apart from the hosts: what becomes of thousands of Routes of one host depends on its owner, not on each other.
  const hostOwners = kernel.derive<HostOwner>(
    'owners of hosts',
    hostClaims,
    (read, key) => {
      const [oldest] = claimsOn(read, key);
      return oldest === undefined ? undefined : { unit: oldest.unit, scope: oldest.scope };
    },
    { same: (a, b) => a.unit === b.unit && a.scope === b.scope },
  );

  const virtualHosts = kernel.derive<VirtualHostRow>(
    'virtual hosts',
    [hostClaims, ownHosts],
    (read, key) => {
      const claims = claimsOn(read, key);
      const [oldest] = claims;
      const [service] = read(ownHosts, key);
      const place = placeOf(key, oldest, service === undefined ? undefined : read(facts, service));
      if (place === undefined) return undefined;
      const { table, host, service: owner, listener } = place;
      const sets = claims.filter(({ scope }) => scope === oldest?.scope).map((claim) => claim.key);
      return { table, host, sets, service: owner, listener };
    },
    { same: sameHost },
  );
  const virtualHostsOf = kernel.index('virtual hosts of tables', virtualHosts, (row: VirtualHostRow) => [row.table]);
  return { hostOwners, virtualHosts, virtualHostsOf };
}

type Place = Omit<VirtualHostRow, 'sets'>;

/** The host's listener: the one of the oldest claim, or the one that names the host itself where that is older. */
function placeOf(key: string, oldest: Claim | undefined, service: ServiceFacts | undefined): Place | undefined {
  const at = key.lastIndexOf('|');
  const table = key.slice(0, at);
  const host = key.slice(at + 1);
  const attachment = oldest?.attachments.find((one) => one.table === table && one.hosts.includes(host));
  const claimed = attachment && {
    table: attachment.table,
    host,
    service: attachment.service,
    listener: attachment.listener,
  };
  const own = service?.listeners
    .filter((listener) => listener.table === table && (listener.hosts ?? [anyHost]).includes(host))
    .sort((a, b) => (a.name < b.name ? -1 : 1))[0];
  if (service === undefined || own?.table === undefined) return claimed;
  const named = { table: own.table, host, service: service.key, listener: own.name };
  if (oldest === undefined || claimed === undefined) return named;
  const order = byAge(oldest.age, service.age) || (claimed.listener <= named.listener ? -1 : 1);
  return order < 0 ? claimed : named;
}

/** Keys of inline entries end in the entry's number. */
function compareEntries(a: string, b: string): number {
  const [, listenerA = '', entryA = ''] = splitKey(a);
  const [, listenerB = '', entryB = ''] = splitKey(b);
  if (listenerA !== listenerB) return listenerA < listenerB ? -1 : 1;
  return Number(entryA) - Number(entryB);
}

function sameClaim(a: Claim, b: Claim): boolean {
  return (
    a.age.createdRevision === b.age.createdRevision && JSON.stringify(a.attachments) === JSON.stringify(b.attachments)
  );
}

function sameHost(a: VirtualHostRow, b: VirtualHostRow): boolean {
  return a.listener === b.listener && a.sets.length === b.sets.length && a.sets.every((set, at) => set === b.sets[at]);
}
