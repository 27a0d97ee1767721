import type { Derived, Index, Kernel, Read } from '../view/index.ts';
import { byAge } from './effective.ts';
import { hostKey, splitKey } from './names.ts';
import type { HostOwner, RuleSet, VirtualHostRow } from './rows.ts';

export interface VirtualHosts {
  /** By `hostKey`. Absent where nothing but default sets names the host. */
  readonly hostOwners: Derived<HostOwner>;
  /** By `hostKey`. */
  readonly virtualHosts: Derived<VirtualHostRow>;
  /** Table key → keys of its virtual hosts. */
  readonly virtualHostsOf: Index;
}

/** What of a rule set matters to others that claim the same hosts: unchanged by an edit of its rules. */
type Claim = Pick<RuleSet, 'key' | 'unit' | 'age' | 'scope' | 'isDefault' | 'attachments'>;

/**
 * Which rule sets serve each host of each route table. The oldest claim on a host owns it for its scope; rules of that
 * scope are merged, others stay out.
 */
export function declareVirtualHosts(kernel: Kernel, ruleSets: Derived<RuleSet>): VirtualHosts {
  const claims = kernel.derive<Claim>(
    'claims of rule sets',
    ruleSets,
    (read, set) => {
      const row = read(ruleSets, set);
      if (row === undefined) return undefined;
      const { key, unit, age, scope, isDefault, attachments } = row;
      return { key, unit, age, scope, isDefault, attachments };
    },
    { same: sameClaim },
  );
  const hostClaims = kernel.index('host claims', claims, (row: Claim) =>
    row.attachments.flatMap(({ table, hosts }) => hosts.map((host) => hostKey(table, host))),
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
      const oldest = claimsOn(read, key).find(({ isDefault }) => !isDefault);
      return oldest === undefined ? undefined : { unit: oldest.unit, scope: oldest.scope };
    },
    { same: (a, b) => a.unit === b.unit && a.scope === b.scope },
  );

  const virtualHosts = kernel.derive<VirtualHostRow>(
    'virtual hosts',
    hostClaims,
    (read, key) => virtualHost(key, claimsOn(read, key), read(hostOwners, key)?.scope),
    { same: sameHost },
  );
  const virtualHostsOf = kernel.index('virtual hosts of tables', virtualHosts, (row: VirtualHostRow) => [row.table]);
  return { hostOwners, virtualHosts, virtualHostsOf };
}

function virtualHost(key: string, claims: readonly Claim[], scope: string | undefined): VirtualHostRow | undefined {
  const at = key.lastIndexOf('|');
  const table = key.slice(0, at);
  const host = key.slice(at + 1);
  const attachment = claims
    .flatMap((claim) => claim.attachments)
    .find((candidate) => candidate.table === table && candidate.hosts.includes(host));
  if (attachment === undefined) return undefined;
  const sets = claims.filter((claim) => !claim.isDefault && claim.scope === scope).map((claim) => claim.key);
  return { table, host, sets, service: attachment.service, listener: attachment.listener };
}

/** Keys of inline entries end in the entry's number, that of the default set in a word. */
function compareEntries(a: string, b: string): number {
  const [, listenerA = '', entryA = ''] = splitKey(a);
  const [, listenerB = '', entryB = ''] = splitKey(b);
  if (listenerA !== listenerB) return listenerA < listenerB ? -1 : 1;
  return entryA.length - entryB.length || (entryA < entryB ? -1 : entryA > entryB ? 1 : 0);
}

function sameClaim(a: Claim, b: Claim): boolean {
  return (
    a.age.createdRevision === b.age.createdRevision && JSON.stringify(a.attachments) === JSON.stringify(b.attachments)
  );
}

function sameHost(a: VirtualHostRow, b: VirtualHostRow): boolean {
  return a.listener === b.listener && a.sets.length === b.sets.length && a.sets.every((set, at) => set === b.sets[at]);
}
