import { performance } from 'node:perf_hooks';
import { type Adoption, createMirror, createWorld, type Mirror } from '../../src/control/index.ts';
import { FairwayError } from '../../src/lib/errors.ts';
import {
  type DraftObject,
  encodeStored,
  type FairwayObject,
  historyKey,
  type ObjectKey,
  specKey,
} from '../../src/model/index.ts';
import { createMemoryStore, type Store } from '../../src/store/index.ts';
import type { WatchEvent } from '../../src/store/store.ts';
import { createLogger } from '../../src/telemetry/log.ts';
import type { Budget } from '../../src/view/index.ts';
import { keyOf } from './world.ts';

/** A memory store that can be told to fail, and that knows what was asked of it. */
export interface FaultyStore extends Store {
  /** Watches that were begun, by the revision after which. */
  readonly watches: readonly number[];
  readonly lists: number;
  /** Commits that were asked for, those that failed included. */
  readonly commits: number;
  /** Ends the watch that is open, with an error or without. */
  breakWatch(error?: Error): void;
  /** Fails the next calls of a sort. */
  fail(what: 'list' | 'watch' | 'commit' | 'get', error: Error, times?: number): void;
  /** Withholds events from the watch until `release`. */
  hold(): void;
  release(): void;
}

export function createFaultyStore(options: Parameters<typeof createMemoryStore>[0] = {}): FaultyStore {
  const store = createMemoryStore(options);
  const faults = new Map<string, { error: Error; left: number }>();
  const watches: number[] = [];
  let lists = 0;
  let commits = 0;
  let breaking: (error: Error | undefined) => void = () => undefined;
  let held: PromiseWithResolvers<void> | undefined;

  function check(what: string): void {
    const fault = faults.get(what);
    if (fault === undefined || fault.left === 0) return;
    fault.left -= 1;
    throw fault.error;
  }

  async function* watch(after: number, signal: AbortSignal): AsyncGenerator<WatchEvent, void, undefined> {
    watches.push(after);
    check('watch');
    const broken = Promise.withResolvers<Error | undefined>();
    breaking = broken.resolve;
    const ended = new AbortController();
    const events = store.watch(after, AbortSignal.any([signal, ended.signal]))[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = await Promise.race([events.next(), broken.promise]);
        if (next === undefined || next instanceof Error) {
          if (next !== undefined) throw next;
          return;
        }
        if (next.done === true) return;
        if (held !== undefined) await Promise.race([held.promise, broken.promise]);
        yield next.value;
      }
    } finally {
      ended.abort();
    }
  }

  return {
    get watches() {
      return watches;
    },
    get lists() {
      return lists;
    },
    get commits() {
      return commits;
    },
    breakWatch: (error) => breaking(error),
    fail(what, error, times = 1) {
      faults.set(what, { error, left: times });
    },
    hold() {
      held = Promise.withResolvers();
    },
    release() {
      held?.resolve();
      held = undefined;
    },
    async commit(transaction) {
      commits += 1;
      check('commit');
      return store.commit(transaction);
    },
    async get(key) {
      check('get');
      return store.get(key);
    },
    async list(prefix) {
      lists += 1;
      check('list');
      return store.list(prefix);
    },
    head: () => store.head(),
    watch,
    close: () => store.close(),
  };
}

export const unavailable = new FairwayError('StoreUnavailable', 'the store is away');
export const compacted = new FairwayError('RevisionCompacted', 'the log does not reach back so far');

export interface Mirrored {
  readonly store: FaultyStore;
  readonly mirror: Mirror;
  readonly adoptions: readonly Adoption[];
  /** Events that were logged, by name. */
  readonly logged: readonly { readonly event: string; readonly [field: string]: unknown }[];
  /** Writes objects as the API would, in one commit; gives its revision. */
  put(...drafts: readonly DraftObject[]): Promise<number>;
  /** The same with other labels: neither spec nor generation change. */
  relabel(draft: DraftObject, labels: Readonly<Record<string, string>>): Promise<number>;
  remove(...keys: readonly ObjectKey[]): Promise<number>;
  /** Writes and deletes at store keys. Text stands as it is, other values as JSON. */
  commit(puts: Readonly<Record<string, unknown>>, deletes?: readonly string[]): Promise<number>;
  /** Resolves when the View has all that is committed. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** A mirror of a store that can fail. Not started. */
export function createMirrored(options: { store?: FaultyStore; budget?: Budget } = {}): Mirrored {
  const store = options.store ?? createFaultyStore();
  const adoptions: Adoption[] = [];
  const logged: { event: string }[] = [];
  const budget: Budget = options.budget ?? { sliceMs: 4, now: () => performance.now(), pause: nextTurn };
  const mirror = createMirror({
    world: createWorld(),
    store,
    budget,
    clock: () => Date.now(),
    log: createLogger({ level: 'debug', destination: { write: (line: string) => void logged.push(JSON.parse(line)) } }),
    onAdopted: (adoption) => void adoptions.push(adoption),
    retry: nextTurn,
  });
  let ids = 0;
  /** Key → generation and uid of the object as it was last written. */
  const known = new Map<ObjectKey, { generation: number; uid: string; object: FairwayObject }>();

  async function transact(puts: readonly { key: string; value: string }[], deletes: readonly string[] = []) {
    ids += 1;
    const outcome = await store.commit({ id: `test-${ids}`, checks: [], puts, deletes });
    if (!outcome.committed) throw new Error('a commit without checks failed');
    return outcome.revision;
  }

  function written(draft: DraftObject, isSameSpec: boolean): { key: string; value: string }[] {
    const key = keyOf(draft);
    const before = known.get(key);
    ids += 1;
    const uid = before?.uid ?? `uid-${ids}`;
    const generation = (before?.generation ?? 0) + (isSameSpec ? 0 : 1);
    const metadata = {
      ...draft.metadata,
      uid,
      generation,
      revision: '',
      createdRevision: '',
      createdAt: '2026-01-01T00:00:00Z',
    };
    const object = { ...draft, metadata } as FairwayObject;
    known.set(key, { generation, uid, object });
    const puts = [{ key: specKey(key), value: encodeStored(object) }];
    if (before !== undefined && !isSameSpec) {
      puts.push({ key: historyKey(key, before.generation), value: encodeStored(before.object) });
    }
    return puts;
  }

  return {
    store,
    mirror,
    adoptions,
    logged,
    put: (...drafts) => transact(drafts.flatMap((draft) => written(draft, false))),
    relabel: (draft, labels) => {
      const relabelled = { ...draft, metadata: { ...draft.metadata, labels } } as DraftObject;
      return transact(written(relabelled, true));
    },
    remove: (...keys) => {
      for (const key of keys) known.delete(key);
      return transact([], keys.map(specKey));
    },
    commit: (puts, deletes = []) =>
      transact(
        Object.entries(puts).map(([key, value]) => ({
          key,
          value: typeof value === 'string' ? value : JSON.stringify(value),
        })),
        deletes,
      ),
    settled: async () => mirror.reached(await store.head(), { timeoutMs: 10_000 }),
    async close() {
      await mirror.close();
      await store.close();
    },
  };
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
