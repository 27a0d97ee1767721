/**
 * What a stream is sent that has nothing yet of a list of names: worked out for the first one, name by name, and taken
 * over by all that are like it. A thousand proxies that connect at once cost as many messages, and not a million names.
 */
import { isSameSet } from './name-lists.ts';
import type { NameList, Names } from './name-set.ts';
import { type TypeUrl, typeUrls } from './resource.ts';
import type { Entry, Table } from './table.ts';

/** One response: all the names of a list from a place on, as many as it has entries. */
export interface Fill {
  readonly entries: readonly Entry[];
  /** The longest warm-up of its resources. */
  readonly warmupMs: number;
  /** Names of other types that its resources use, when they are clusters. */
  readonly uses: ReadonlyMap<TypeUrl, Names>;
}

/** Streams that are sent the same: those with the same audiences, while the table is the same. */
interface Group {
  readonly revision: number;
  readonly audiences: ReadonlySet<string>;
  /** By the place of the first name. */
  readonly fills: Map<number, Fill>;
}

export class Fills {
  readonly #table: Table;
  readonly #groups = new WeakMap<NameList, Group>();

  constructor(table: Table) {
    this.#table = table;
  }

  get(list: NameList, at: number, audiences: ReadonlySet<string>): Fill | undefined {
    return this.#group(list, audiences)?.fills.get(at);
  }

  /** Keeps what a stream is sent, if it is what any other would be. */
  keep(list: NameList, at: number, audiences: ReadonlySet<string>, entries: readonly Entry[]): void {
    if (entries.length === 0 || !entries.every(({ resource }, index) => resource.name === list.names[at + index]))
      return;
    // Whether a cluster is ready is another matter on each stream; everything else that may be needed is in the table.
    if (entries.some(({ resource }) => resource.needs.some(({ type }) => type === typeUrls.cluster))) return;
    let group = this.#group(list, audiences);
    if (group === undefined) {
      group = { revision: this.#table.revision, audiences, fills: new Map() };
      this.#groups.set(list, group);
    }
    group.fills.set(at, fillOf(this.#table, entries));
  }

  #group(list: NameList, audiences: ReadonlySet<string>): Group | undefined {
    const group = this.#groups.get(list);
    if (group?.revision !== this.#table.revision || !isSameSet(group.audiences, audiences)) return undefined;
    return group;
  }
}

function fillOf(table: Table, entries: readonly Entry[]): Fill {
  let warmupMs = 0;
  const assignments = new Set<string>();
  const secrets = new Set<string>();
  for (const entry of entries) {
    warmupMs = Math.max(warmupMs, entry.resource.warmupMs ?? 0);
    if (entry.resource.type !== typeUrls.cluster) continue;
    for (const name of table.assignmentsOf(entry)) assignments.add(name);
    for (const { type, name } of entry.resource.needs) {
      if (type === typeUrls.endpoint) assignments.add(name);
      if (type === typeUrls.secret) secrets.add(name);
    }
  }
  const uses = new Map([
    [typeUrls.endpoint, assignments],
    [typeUrls.secret, secrets],
  ]);
  return { entries, warmupMs, uses };
}
