import { addTo, removeFrom } from '../lib/multi-map.ts';
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

const nothingTaken: readonly Track[] = [];

type Removal = Commit['removals'][number];

class Track {
  readonly revision: number;
  readonly committedAt: number;
  readonly settledAt: number;
  readonly resources: number;
  /** Fleets whose proxies it concerns: those that were there before it came. */
  readonly fleets: ReadonlySet<string>;
  readonly openedBefore: number;
  acknowledged = 0;
  /** Proxies that have not acknowledged it. */
  left = 0;
  sent: Span | undefined;
  acked: Span | undefined;

  constructor(
    revision: number,
    times: { readonly committedAt: number; readonly settledAt: number },
    resources: number,
    { fleets, openedBefore }: Pick<Track, 'fleets' | 'openedBefore'>,
  ) {
    this.revision = revision;
    this.committedAt = times.committedAt;
    this.settledAt = times.settledAt;
    this.resources = resources;
    this.fleets = fleets;
    this.openedBefore = openedBefore;
  }

  isWaitingFor({ cluster, order, acked }: Follower): boolean {
    return acked < this.revision && order < this.openedBefore && this.fleets.has(cluster);
  }
}

/** A connected proxy. */
interface Follower {
  readonly nodeId: string;
  readonly cluster: string;
  /** Counts the streams that were opened before it. */
  readonly order: number;
  /** All commits up to this revision are acknowledged. */
  acked: number;
}

/**
 * `onTaken` is told of each commit that every proxy concerned has acknowledged; not of those that concern none, and
 * not where the last one that was waited for went away instead.
 */
export function createCommits(table: Table, onTaken: (track: CommitTrack) => void = () => undefined): Commits {
  /** Oldest first. */
  let tracks: Track[] = [];
  /** Those that some proxy has not acknowledged yet, oldest first. */
  let open: Track[] = [];
  /** By stream. Who waits for what is told from them: a set for each commit would cost more than the commit. */
  const followers = new Map<string, Follower>();
  /** Fleet → its streams. */
  const connected = new Map<string, Set<Follower>>();
  let opened = 0;

  /** What proxies are sent of it: a put that only says anew where a resource comes from is none of their business. */
  function changesOf(commit: Commit): readonly (Resource | Removal)[] {
    const differs = (resource: Resource): boolean => {
      const before = table.get(resource.type, resource.name)?.resource;
      return before?.hash !== resource.hash || before.audience !== resource.audience;
    };
    return [...commit.puts.filter(differs), ...commit.removals];
  }

  function fleetsOf(commit: Commit, changes: readonly (Resource | Removal)[]): Set<string> {
    const audiences = new Set<string>();
    for (const change of changes) {
      if ('audience' in change) audiences.add(change.audience);
      const before = table.get(change.type, change.name)?.resource.audience;
      if (before !== undefined) audiences.add(before);
    }
    const subjects = new Set(commit.audiences.map(({ subject }) => subject));
    const fleets = new Set<string>();
    for (const cluster of connected.keys()) {
      const own = table.audiencesOf({ id: '', cluster });
      if (subjects.has(`cluster/${cluster}`) || [...audiences].some((audience) => own.has(audience)))
        fleets.add(cluster);
    }
    return fleets;
  }

  /** Calls `visit` for each open commit up to a revision that waits for the proxy, newest first. */
  function forEachWaiting(follower: Follower, revision: number, visit: (track: Track) => void): void {
    for (let at = open.length - 1; at >= 0; at -= 1) {
      const track = open[at] as Track;
      // One proxy that never answers keeps all of them open: what is older than its last answer is not gone through.
      if (track.revision <= follower.acked) return;
      if (track.revision <= revision && track.isWaitingFor(follower)) visit(track);
    }
  }

  function close(ended: readonly Track[]): void {
    if (ended.length > 0) open = open.filter((track) => !ended.includes(track));
  }

  function acknowledge(stream: string, revision: number, sentAt: number, at: number): void {
    const follower = followers.get(stream);
    if (follower === undefined || revision <= follower.acked) return;
    let taken = nothingTaken;
    forEachWaiting(follower, revision, (track) => {
      track.left -= 1;
      track.acknowledged += 1;
      track.sent = widen(track.sent, sentAt);
      track.acked = widen(track.acked, at);
      if (track.left === 0) taken = [track, ...taken];
    });
    follower.acked = revision;
    close(taken);
    for (const track of taken) onTaken(describe(track, track.revision));
  }

  /** A proxy that is gone is waited for no longer: when it comes back it gets the newest state. */
  function forget(stream: string): void {
    const follower = followers.get(stream);
    if (follower === undefined) return;
    let given = nothingTaken;
    forEachWaiting(follower, Number.POSITIVE_INFINITY, (track) => {
      track.left -= 1;
      if (track.left === 0) given = [track, ...given];
    });
    close(given);
    followers.delete(stream);
    removeFrom(connected, follower.cluster, follower);
  }

  /** Node ids of the proxies that a commit waits for. */
  function waitingFor(track: Track): readonly string[] {
    if (track.left === 0) return [];
    return [...followers.values()].filter((follower) => track.isWaitingFor(follower)).map(({ nodeId }) => nodeId);
  }

  function describe(track: Track, revision: number): CommitTrack {
    const { committedAt, settledAt, resources, sent, acked, acknowledged, left } = track;
    return {
      revision,
      settledWith: track.revision,
      committedAt,
      settledAt,
      resources,
      sent,
      proxies: {
        concerned: acknowledged + left,
        acknowledged,
        waitingFor: [...waitingFor(track)].sort().slice(0, maxNamed),
      },
      acknowledged: acked,
    };
  }

  return {
    add(commit, times) {
      const changes = changesOf(commit);
      const nothing = changes.length + commit.audiences.length === 0;
      const fleets: ReadonlySet<string> = nothing ? new Set<string>() : fleetsOf(commit, changes);
      const track = new Track(commit.revision, times, changes.length, { fleets, openedBefore: opened });
      for (const fleet of fleets) {
        for (const follower of connected.get(fleet) ?? []) if (track.isWaitingFor(follower)) track.left += 1;
      }
      tracks.push(track);
      if (track.left > 0) open.push(track);
      // Cut in halves, so that a cut costs one copy for a thousand commits.
      if (tracks.length < 2 * maxKept) return;
      close(tracks.slice(0, maxKept));
      tracks = tracks.slice(maxKept);
    },
    observe(progress) {
      for (const event of progress) {
        if (event.kind === 'acked') acknowledge(event.streamId, event.revision, event.sentAt, event.at);
        else if (event.kind === 'closed') forget(event.streamId);
        else if (event.kind === 'opened') {
          const { nodeId, node } = event;
          const follower: Follower = { nodeId, cluster: node.cluster, order: opened, acked: 0 };
          opened += 1;
          followers.set(event.streamId, follower);
          addTo(connected, node.cluster, follower);
        }
      }
    },
    get waiting() {
      return open.length;
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

function widen(span: Span | undefined, at: number): Span {
  return span === undefined
    ? { first: at, last: at }
    : { first: Math.min(span.first, at), last: Math.max(span.last, at) };
}
