import type { Commit, Progress, Resource, Table } from '../xds/index.ts';

/** What became of one commit of the store, as far as this controller saw it. Times in milliseconds since 1970. */
export interface CommitTrack {
  /** The revision asked for, and that of the View's step which took it in: commits that wait are taken in together. */
  readonly revision: number;
  readonly settledWith: number;
  /** When this controller learned of it, and when its View had taken it in. */
  readonly committedAt: number;
  readonly settledAt: number;
  /** Resources that the step changed, added or removed. */
  readonly resources: number;
  /** When the first and the last proxy so far were sent the last of it. */
  readonly sent: Span | undefined;
  /** Proxies concerned, and those that have acknowledged it. `acknowledged` ends once all have. */
  readonly proxies: {
    readonly concerned: number;
    readonly acknowledged: number;
    readonly waitingFor: readonly string[];
  };
  readonly acknowledged: Span | undefined;
}

export interface Span {
  readonly first: number;
  readonly last: number;
}

/** Follows the last commits on their way to the proxies. One per controller. */
export interface Commits {
  /** A commit that is about to go into the table. */
  add(commit: Commit, times: { readonly committedAt: number; readonly settledAt: number }): void;
  observe(progress: readonly Progress[]): void;
  /** Those that some proxy concerned has not acknowledged. */
  readonly waiting: number;
  /** Undefined: not yet taken in, or too long ago. */
  get(revision: number): CommitTrack | undefined;
}

const maxKept = 1000;
/** Longest list of proxies that are waited for. */
const maxNamed = 10;

type Removal = Commit['removals'][number];

class Track {
  readonly revision: number;
  readonly committedAt: number;
  readonly settledAt: number;
  readonly resources: number;
  /** Stream → node id of those that have not acknowledged it. */
  readonly waiting: Map<string, string>;
  acknowledged = 0;
  sent: Span | undefined;
  acked: Span | undefined;

  constructor(
    revision: number,
    times: { readonly committedAt: number; readonly settledAt: number },
    resources: number,
    waiting: Map<string, string>,
  ) {
    this.revision = revision;
    this.committedAt = times.committedAt;
    this.settledAt = times.settledAt;
    this.resources = resources;
    this.waiting = waiting;
  }
}

/**
 * `onTaken` is told of each commit that every proxy concerned has acknowledged; not of those that concern none, and
 * not where the last one that was waited for went away instead.
 */
export function createCommits(table: Table, onTaken: (track: CommitTrack) => void = () => undefined): Commits {
  /** Oldest first. */
  let tracks: Track[] = [];
  /** Those that some proxy has not acknowledged yet, oldest first. */
  const open = new Set<Track>();
  /** Fleet → streams → node ids. */
  const connected = new Map<string, Map<string, string>>();
  const fleetOf = new Map<string, string>();

  /** What proxies are sent of it: a put that only says anew where a resource comes from is none of their business. */
  function changesOf(commit: Commit): readonly (Resource | Removal)[] {
    const differs = (resource: Resource): boolean => {
      const before = table.get(resource.type, resource.name)?.resource;
      return before?.hash !== resource.hash || before.audience !== resource.audience;
    };
    return [...commit.puts.filter(differs), ...commit.removals];
  }

  function concernedBy(commit: Commit, changes: readonly (Resource | Removal)[]): Map<string, string> {
    const audiences = new Set<string>();
    for (const change of changes) {
      if ('audience' in change) audiences.add(change.audience);
      const before = table.get(change.type, change.name)?.resource.audience;
      if (before !== undefined) audiences.add(before);
    }
    const subjects = new Set(commit.audiences.map(({ subject }) => subject));
    const concerned = new Map<string, string>();
    for (const [cluster, streams] of connected) {
      const own = table.audiencesOf({ id: '', cluster });
      const all = subjects.has(`cluster/${cluster}`) || [...audiences].some((audience) => own.has(audience));
      if (all) for (const [stream, node] of streams) concerned.set(stream, node);
    }
    return concerned;
  }

  function acknowledge(stream: string, revision: number, sentAt: number, at: number): void {
    for (const track of open) {
      if (track.revision > revision) return;
      if (!track.waiting.delete(stream)) continue;
      track.acknowledged += 1;
      track.sent = widen(track.sent, sentAt);
      track.acked = widen(track.acked, at);
      if (track.waiting.size > 0) continue;
      open.delete(track);
      onTaken(describe(track, track.revision));
    }
  }

  /** A proxy that is gone is waited for no longer: when it comes back it gets the newest state. */
  function forget(stream: string): void {
    for (const track of open) if (track.waiting.delete(stream) && track.waiting.size === 0) open.delete(track);
    connected.get(fleetOf.get(stream) ?? '')?.delete(stream);
    fleetOf.delete(stream);
  }

  return {
    add(commit, times) {
      const changes = changesOf(commit);
      const nothing = changes.length + commit.audiences.length === 0;
      const waiting = nothing ? new Map<string, string>() : concernedBy(commit, changes);
      const track = new Track(commit.revision, times, changes.length, waiting);
      tracks.push(track);
      if (track.waiting.size > 0) open.add(track);
      // Cut in halves, so that a cut costs one copy for a thousand commits.
      if (tracks.length < 2 * maxKept) return;
      for (const old of tracks.slice(0, maxKept)) open.delete(old);
      tracks = tracks.slice(maxKept);
    },
    observe(progress) {
      for (const event of progress) {
        if (event.kind === 'acked') acknowledge(event.streamId, event.revision, event.sentAt, event.at);
        else if (event.kind === 'closed') forget(event.streamId);
        else if (event.kind === 'opened') {
          const { cluster } = event.node;
          fleetOf.set(event.streamId, cluster);
          const streams = connected.get(cluster) ?? new Map<string, string>();
          connected.set(cluster, streams.set(event.streamId, event.nodeId));
        }
      }
    },
    get waiting() {
      return open.size;
    },
    get(revision) {
      const at = tracks.findIndex((candidate) => candidate.revision >= revision);
      const track = tracks[at];
      // Below the first one kept it is not known which step took the commit in.
      if (track === undefined || (at === 0 && track.revision !== revision)) return undefined;
      return describe(track, revision);
    },
  };
}

function describe(track: Track, revision: number): CommitTrack {
  const { committedAt, settledAt, resources, sent, acked, acknowledged, waiting } = track;
  const waitingFor = [...waiting.values()].sort().slice(0, maxNamed);
  const proxies = { concerned: acknowledged + waiting.size, acknowledged, waitingFor };
  return {
    revision,
    settledWith: track.revision,
    committedAt,
    settledAt,
    resources,
    sent,
    proxies,
    acknowledged: acked,
  };
}

function widen(span: Span | undefined, at: number): Span {
  return span === undefined
    ? { first: at, last: at }
    : { first: Math.min(span.first, at), last: Math.max(span.last, at) };
}
