import type { LogBounds } from './log.ts';
import type { Revision } from './store.ts';

/** The history is cut when it is over its bounds by this share of them, so that not every commit has to. */
const slack = 1 / 16;

/** Old ids that one commit removes: more than the one that it adds, so that a backlog goes. */
export const idsPerCommit = 2;

interface Commit {
  readonly revision: Revision;
  readonly bytes: number;
}

/**
 * How far back commits count, as one controller sees it: the revisions that a watch can begin at, and the ids that are
 * still known. Each controller cuts by the same rule and asks etcd to compact accordingly, so that it makes no
 * difference which of them does it, or whether one starts anew and knows no sizes.
 *
 * An id lives as long as its commit; its key in etcd goes a little later, with one of the next commits.
 */
export class EtcdHistory {
  readonly #bounds: LogBounds;
  #commits: Commit[] = [];
  #bytes = 0;
  #floor: Revision;
  /** Mod revision of the keys of ids, those first that were written first. */
  readonly #ids = new Map<string, Revision>();
  /** Being removed by a commit under way. */
  readonly #leaving = new Set<string>();

  constructor(bounds: LogBounds, floor: Revision) {
    this.#bounds = bounds;
    this.#floor = floor;
  }

  /** Commits up to this one are no longer kept, and their ids no longer known. */
  get floor(): Revision {
    return this.#floor;
  }

  /** Adds the next commit; true when the floor has risen. */
  add(revision: Revision, bytes: number): boolean {
    this.#commits.push({ revision, bytes });
    this.#bytes += bytes;
    const over = (bound: number) => bound + Math.floor(bound * slack);
    if (this.#commits.length <= over(this.#bounds.revisions) && this.#bytes <= over(this.#bounds.bytes)) return false;
    let drop = 0;
    for (const { bytes: size } of this.#commits) {
      const within = this.#commits.length - drop <= this.#bounds.revisions && this.#bytes <= this.#bounds.bytes;
      if (within || drop === this.#commits.length - 1) break;
      this.#bytes -= size;
      drop += 1;
    }
    if (drop === 0) return false;
    this.#floor = Math.max(this.#floor, (this.#commits[drop - 1] as Commit).revision);
    this.#commits = this.#commits.slice(drop);
    return true;
  }

  /** Somebody else has compacted etcd up to `floor`. */
  raise(floor: Revision): void {
    if (floor <= this.#floor) return;
    this.#floor = floor;
    const kept = this.#commits.filter(({ revision }) => revision > floor);
    this.#bytes -= this.#commits
      .filter((commit) => commit.revision <= floor)
      .reduce((sum, { bytes }) => sum + bytes, 0);
    this.#commits = kept;
  }

  idWritten(id: string, revision: Revision): void {
    this.#ids.delete(id);
    this.#ids.set(id, revision);
  }

  idRemoved(id: string): void {
    this.#ids.delete(id);
    this.#leaving.delete(id);
  }

  /** Ids that count no longer, for the next commit to remove; `give` them back when it was not committed. */
  takeOldIds(except: string): string[] {
    const taken: string[] = [];
    for (const [id, revision] of this.#ids) {
      if (revision > this.#floor || taken.length === idsPerCommit) break;
      if (id === except || this.#leaving.has(id)) continue;
      taken.push(id);
    }
    for (const id of taken) this.#leaving.add(id);
    return taken;
  }

  give(ids: readonly string[]): void {
    for (const id of ids) this.#leaving.delete(id);
  }
}
