/** The read side of the streams: who is connected, how far along, and where a resource has arrived. */
import { findIn } from '../lib/place-in.ts';
import type { Counts } from './counts.ts';
import type { Forms } from './forms.ts';
import { visible } from './needs.ts';
import type { NodeInfo } from './node-info.ts';
import { each, type Pieces, sorted } from './pieces.ts';
import type { Rejection, Stall } from './progress.ts';
import type { Part, Resource, TypeUrl } from './resource.ts';
import type { Enrolled, Roster } from './roster.ts';
import type { Session } from './session.ts';
import type { Stream } from './stream.ts';
import type { Table } from './table.ts';
import type { TypeState } from './type-state.ts';
import type { Protocol } from './wire.ts';

export interface TypeStatus {
  readonly type: TypeUrl;
  readonly wildcard: boolean;
  /** Names asked for one by one. */
  readonly subscribed: number;
  /** Revision of the table in the last response sent, and in the last one acknowledged; 0: none yet. */
  readonly sentRevision: number;
  readonly ackedRevision: number;
  /** Resources acknowledged. */
  readonly acked: number;
  /** Names whose newest form is on the way, waits or is still to be sent; not what is to go once that is safe. */
  readonly pending: number;
  readonly rejected: readonly RejectedName[];
}

export interface RejectedName {
  readonly name: string;
  readonly hash: string;
  readonly words: string;
  /** As of a {@link Rejection}; what others of the version refused is `convicted`. */
  readonly scope: Rejection['scope'];
  /** Of the first refusal by this client, in milliseconds since 1970; undefined when it was refused by others only. */
  readonly since: number | undefined;
}

export interface StreamStatus {
  readonly streamId: string;
  readonly node: NodeInfo;
  readonly peer: string;
  readonly protocol: Protocol;
  readonly openedAt: number;
  /** Revision of the table when the stream opened. */
  readonly openedRevision: number;
  /** When it had everything for the first time. */
  readonly filledAt: number | undefined;
  /** Everything up to this revision that concerns the stream is acknowledged or refused; 0 until it is filled. */
  readonly ackedRevision: number;
  readonly stall: Stall | undefined;
  /** The first of what it refused; told at once, while `types` are counted when somebody asks for them. */
  readonly refusal: RejectedName | undefined;
  readonly types: readonly TypeStatus[];
}

/** What one stream has of one resource. */
export interface ResourceVersions {
  readonly type: TypeUrl;
  readonly name: string;
  /** Version in the table; undefined: the client should not have it. */
  readonly wanted: string | undefined;
  readonly sent: string | undefined;
  readonly acked: string | undefined;
}

/**
 * How far a resource has come on a stream that has its audience. `unsubscribed`: the client has not asked for it
 * (yet): Envoy asks for routes, secrets and endpoints only when it has what names them.
 */
export interface Delivery {
  readonly streamId: string;
  readonly nodeId: string;
  readonly state: 'acked' | 'pending' | 'rejected' | 'unsubscribed';
  /** When rejected: what was said of it. */
  readonly refusal: Omit<RejectedName, 'name' | 'hash'> | undefined;
  readonly openedRevision: number;
  readonly filled: boolean;
  /** It has all that it asked for, as of the revision up to which changes are marked. Told where it is unsubscribed. */
  readonly rests: boolean;
}

export interface Fleet {
  /** All streams whose node is known, oldest first. */
  streams(): readonly StreamStatus[];
  /** One of them; undefined when there is no such stream. */
  stream(streamId: string): StreamStatus | undefined;
  /**
   * Version by version what a stream has and should have, in order of types and names; undefined when there is no such
   * stream. Each type is told as it was at some moment of the work.
   */
  versions(streamId: string): Pieces<readonly ResourceVersions[] | undefined>;
  /**
   * Where the newest form of a resource is, or the part of it that came from `unit`; empty when the table has no such
   * resource. In the order of `nodeIds` of its audience.
   */
  delivery(type: TypeUrl, name: string, unit?: string): readonly Delivery[];
  /** Another number whenever some audience has other streams. */
  readonly edition: number;
  /** Ids of the nodes of all streams that have the audience. */
  nodeIds(audience: string): readonly string[];
  /**
   * Whether all streams that have the audience have everything that they asked for, as of the revision up to which
   * changes are marked, and refused nothing. With a type: and all of them asked for all of that type.
   */
  inStep(audience: string, type?: TypeUrl): boolean;
  /**
   * Whether all streams that have the audience asked for all of the type, and have everything of it up to a revision of
   * the table, though they may be behind with what came later. For types without wildcard it says false.
   */
  haveUpTo(revision: number, audience: string, type: TypeUrl): boolean;
}

export interface FleetSource {
  readonly table: Table;
  readonly forms: Forms;
  readonly sessions: () => Iterable<Session>;
  readonly session: (streamId: string) => Session | undefined;
  readonly counts: Counts;
  readonly roster: Pick<Roster<Enrolled>, 'edition' | 'withAudience'>;
  /** All streams but those that have everything they should have. */
  readonly stirred: Iterable<Enrolled>;
}

export function createFleet(source: FleetSource): Fleet {
  const { table, forms, counts, sessions, session: sessionOf, roster, stirred } = source;
  const { withAudience } = roster;
  const floors = new Map<string, Floor>();
  let floorsEdition = 0;

  /** The revision up to which all streams that have the audience have everything of a type; 0: none, or not known. */
  function floorOf(audience: string, type: TypeUrl): number {
    let floor = Number.POSITIVE_INFINITY;
    for (const { session } of withAudience(audience)) {
      const state = session.stream.state(type);
      if (state?.subscription.wildcard !== true || state.hasDoubts) return 0;
      floor = Math.min(floor, session.ackedRevision);
    }
    return floor === Number.POSITIVE_INFINITY ? 0 : floor;
  }

  /** The refusal that keeps a resource from a stream: its own, or the conviction by another. */
  function refusalOf(stream: Stream, state: TypeState, resource: Resource): RejectedName | undefined {
    const { type, name, hash } = resource;
    const own = state.refused.get(name);
    if (own?.hash === hash) return { name, hash, words: own.words, scope: own.scope, since: own.since };
    const conviction = forms.conviction(stream.version, type, name, hash);
    if (conviction === undefined || state.held.get(name)?.hash === hash) return undefined;
    return { name, hash, words: conviction.words, scope: 'convicted', since: undefined };
  }

  function rejectedOf(session: Session, state: TypeState): TypeStatus['rejected'] {
    if (!forms.hasDoubts && state.refused.size === 0) return [];
    const names = new Set(state.refused.keys());
    for (const { type, name, version } of forms.convictions()) {
      if (type === state.type && version === session.stream.version && state.wants(name)) names.add(name);
    }
    const rejected: RejectedName[] = [];
    for (const name of names) {
      const resource = visible(session.stream, state.type, name)?.resource;
      const refusal = resource && refusalOf(session.stream, state, resource);
      if (refusal !== undefined) rejected.push(refusal);
    }
    return rejected;
  }

  function statusOf(session: Session, node: NodeInfo): StreamStatus {
    const { stream } = session;
    let types: readonly TypeStatus[] | undefined;
    return {
      streamId: stream.id,
      node,
      peer: stream.peer,
      protocol: stream.protocol,
      openedAt: stream.openedAt,
      openedRevision: stream.openedRevision,
      filledAt: session.filledAt,
      ackedRevision: session.ackedRevision,
      stall: stream.stall,
      refusal: firstRejected(session),
      get types() {
        types ??= stream.states.map((state) => typeStatusOf(session, state));
        return types;
      },
    };
  }

  function firstRejected(session: Session): RejectedName | undefined {
    for (const state of session.stream.states) {
      const [first] = rejectedOf(session, state);
      if (first !== undefined) return first;
    }
    return undefined;
  }

  function typeStatusOf(session: Session, state: TypeState): TypeStatus {
    return {
      type: state.type,
      wildcard: state.subscription.wildcard,
      subscribed: state.subscription.names.size,
      sentRevision: state.sentRevision,
      ackedRevision: state.ackedRevision,
      acked: state.held.size,
      pending: state.pending,
      rejected: rejectedOf(session, state),
    };
  }

  return {
    streams() {
      const statuses: StreamStatus[] = [];
      for (const session of sessions()) {
        const { node } = session.stream;
        if (node !== undefined) statuses.push(statusOf(session, node));
      }
      return statuses;
    },
    stream(streamId) {
      const session = sessionOf(streamId);
      const node = session?.stream.node;
      return session && node && statusOf(session, node);
    },
    *versions(streamId) {
      const session = sessionOf(streamId);
      if (session === undefined) return undefined;
      const { stream } = session;
      const versions: ResourceVersions[] = [];
      for (const state of stream.states) {
        const { type, subscription, held, flying } = state;
        const names = new Set<string>();
        const wanted = subscription.wildcard ? stream.namesOf(type) : subscription.names;
        for (const some of [wanted, held.keys(), flying.keys()]) yield* each(some, (name) => names.add(name));
        const inOrder = yield* sorted(names);
        yield* each(inOrder, (name) => {
          versions.push({
            type,
            name,
            wanted: visible(stream, type, name)?.resource.hash,
            sent: state.expected(name)?.hash,
            acked: held.get(name)?.hash,
          });
        });
      }
      return versions;
    },
    delivery(type, name, unit) {
      const resource = table.get(type, name)?.resource;
      if (resource === undefined) return [];
      const deliveries: Delivery[] = [];
      for (const { session } of withAudience(resource.audience)) {
        const { stream } = session;
        const state = stream.state(type);
        let reached: Delivery['state'] = 'acked';
        let refusal: RejectedName | undefined;
        if (state === undefined || !state.wants(name)) reached = 'unsubscribed';
        else if (!holds(state, resource, unit)) {
          refusal = refusalOf(stream, state, resource);
          reached = refusal === undefined ? 'pending' : 'rejected';
        }
        deliveries.push({
          streamId: stream.id,
          nodeId: stream.node?.id ?? '',
          state: reached,
          refusal: refusal && { words: refusal.words, scope: refusal.scope, since: refusal.since },
          openedRevision: stream.openedRevision,
          filled: session.filledAt !== undefined,
          rests: reached === 'unsubscribed' && rests(session),
        });
      }
      return deliveries;
    },
    get edition() {
      return roster.edition;
    },
    nodeIds(audience) {
      const ids: string[] = [];
      for (const { session } of withAudience(audience)) ids.push(session.stream.node?.id ?? '');
      return ids;
    },
    inStep(audience, type) {
      // Which of them a refusal concerns is a longer question.
      if (forms.hasDoubts) return false;
      for (const { session } of stirred) if (session.stream.audiences.has(audience)) return false;
      if (type === undefined) return true;
      for (const { session } of withAudience(audience)) {
        if (session.stream.state(type)?.subscription.wildcard !== true) return false;
      }
      return true;
    },
    haveUpTo(revision, audience, type) {
      if (forms.hasDoubts) return false;
      const key = `${audience} ${type}`;
      const { nacked } = counts.of(type);
      // Streams only go on: what was found once holds until one comes, goes or refuses something.
      if (floorsEdition !== roster.edition) floors.clear();
      floorsEdition = roster.edition;
      const known = floors.get(key);
      if (known?.nacked === nacked && revision <= known.revision) return true;
      const floor = { nacked, revision: floorOf(audience, type) };
      floors.set(key, floor);
      return revision <= floor.revision;
    },
  };
}

/** See `floorOf`; as of what it is known. */
interface Floor {
  readonly nacked: number;
  readonly revision: number;
}

function rests({ filledAt, ackedRevision, stream }: Session): boolean {
  return filledAt !== undefined && ackedRevision >= stream.host.markedRevision;
}

/** Whether the client has the resource, or else the part of it that came from the unit. */
function holds(state: TypeState, resource: Resource, unit: string | undefined): boolean {
  const held = state.held.get(resource.name);
  if (held === undefined || state.suspects.has(resource.name)) return false;
  if (held.hash === resource.hash) return true;
  if (unit === undefined || resource.parts.length < 2) return false;
  const wanted = findIn(resource.parts, unit, unitOf);
  return wanted !== undefined && findIn<Part>(held.parts, unit, unitOf)?.hash === wanted.hash;
}

const unitOf = ({ unit }: Part): string => unit;
