/**
 * How members leave a pool. One that an edit leaves out stays with the proxies as draining, for the `drainTimeout` of
 * its pool: nothing new goes to it, what it has begun may end.
 *
 *   in the pool ──edit──▶ leaving ──leader──▶ leaving until T ──T──▶ gone
 *        ▲                   │                      │
 *        └── comes back ─────┴──────────────────────┘
 *
 * Who has left follows from the edit alone, so every controller shows it in the step in which it adopts the edit; until
 * when needs a clock, so the leader decides and stores it. A controller that starts between the two commits knows
 * nothing of those who left, and takes them away: a proxy cuts nothing for that either, it only shows them no longer.
 */
import type { Drain, DrainingMember } from '../graph/index.ts';
import { type BackendPoolObject, effectiveBackendPool, isServing, memberKey } from '../model/index.ts';

/** Stored: the members that are leaving a pool, and until when. */
export interface DrainRecord {
  /** Of the pool: a later one of the same name is another. */
  readonly uid: string;
  /** Of the pool: who left it by later edits is not in the record yet. */
  readonly generation: number;
  /** `until` is RFC 3339. */
  readonly members: readonly { readonly address: string; readonly port: number; readonly until: string }[];
}

/**
 * As many as a pool has members at most. Where members change on and on, those that left first have had the longest
 * time.
 */
const maxDraining = 2048;

/** Who drains after an edit of the pool. */
export function drainAfterEdit(
  drain: Drain | undefined,
  before: BackendPoolObject | undefined,
  after: BackendPoolObject,
): Drain | undefined {
  if (effectiveBackendPool(after.spec).drainTimeoutMs === 0) return undefined;
  const present = serving(after);
  const isSame = before?.metadata.uid === after.metadata.uid;
  const members = isSame ? [...(drain?.members ?? []), ...departures(before, after, present)] : [];
  return drainOf(members.filter((member) => !present.has(memberKey(member))));
}

/** Who drains once the leader has decided: those of the record, and who left later than it knows of. */
export function drainAfterRecord(
  drain: Drain | undefined,
  former: DrainRecord | undefined,
  record: DrainRecord | undefined,
): Drain | undefined {
  const known = record ?? former;
  const later = (drain?.members ?? []).filter(({ generation }) => known === undefined || generation > known.generation);
  const generation = record?.generation ?? 0;
  const decided = (record?.members ?? []).map(({ address, port }) => ({ address, port, generation }));
  return drainOf([...decided, ...later]);
}

/** The record as it should be now; undefined: none. The former one itself where nothing is to be changed. */
export function settleDrain(
  pool: BackendPoolObject | undefined,
  drain: Drain | undefined,
  record: DrainRecord | undefined,
  now: number,
): DrainRecord | undefined {
  if (pool === undefined || drain === undefined) return undefined;
  const { uid, generation } = pool.metadata;
  const former = record?.uid === uid ? record : undefined;
  const decided = new Map((former?.members ?? []).map((member) => [memberKey(member), member.until]));
  const begun = new Date(now + effectiveBackendPool(pool.spec).drainTimeoutMs).toISOString();
  const members = drain.members
    .map((member) => {
      const { address, port } = member;
      // Who came back and left again since begins anew.
      const again = former === undefined || member.generation > former.generation;
      return { address, port, until: again ? begun : (decided.get(memberKey(member)) ?? begun) };
    })
    .filter(({ until }) => Date.parse(until) > now);
  if (members.length === 0) return undefined;
  return former !== undefined && JSON.stringify(former.members) === JSON.stringify(members)
    ? former
    : { uid, generation, members };
}

/** When the first member of the record is to be taken away. */
export function drainDeadline(record: DrainRecord): number {
  return Math.min(...record.members.map(({ until }) => Date.parse(until)));
}

export function sameDrain(a: Drain | undefined, b: Drain | undefined): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Members of `before` that are not among those that the pool has now. */
function departures(
  before: BackendPoolObject,
  after: BackendPoolObject,
  present: ReadonlySet<string>,
): readonly DrainingMember[] {
  return (before.spec.members ?? [])
    .filter((member) => isServing(member) && !present.has(memberKey(member)))
    .map(({ address, port }) => ({ address, port, generation: after.metadata.generation }));
}

function serving({ spec }: BackendPoolObject): ReadonlySet<string> {
  return new Set((spec.members ?? []).filter(isServing).map(memberKey));
}

/** Each member once, as it left last; undefined when there is none. */
function drainOf(members: readonly DrainingMember[]): Drain | undefined {
  const latest = new Map<string, DrainingMember>();
  for (const member of members) {
    const key = memberKey(member);
    latest.delete(key);
    latest.set(key, member);
  }
  return latest.size === 0 ? undefined : { members: [...latest.values()].slice(-maxDraining) };
}
