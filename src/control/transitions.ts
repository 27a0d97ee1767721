import { createLatest, type Latest } from '../lib/latest.ts';
import { type FairwayObject, type Kind, kinds, type ObjectKey, specKey, storeKey } from '../model/index.ts';
import { type ConditionDraft, transitionsOf } from '../status/index.ts';
import type { Store } from '../store/store.ts';
import type { Logger } from '../telemetry/log.ts';
import { kindOf } from './adoption.ts';
import type { Mirror } from './mirror.ts';

/** Stores since when each condition has its status. The leader's alone. */
export interface TransitionWriter {
  /** The conditions of these objects may be others now. */
  touch(keys: Iterable<ObjectKey>): void;
  /** Proxies acknowledged or refused something: what was not Programmed may be now. */
  progressed(): void;
  /** Proxies came, went or were filled: everything may be another. */
  touchAll(): void;
  close(): Promise<void>;
}

export interface TransitionWriterOptions {
  readonly mirror: Mirror;
  readonly store: Store;
  /** The conditions of an object as they are now. */
  readonly conditions: (key: ObjectKey, object: FairwayObject) => readonly ConditionDraft[];
  readonly now: () => number;
  readonly newId: () => string;
  readonly pause: () => Promise<void>;
  readonly log: Logger;
}

/** Long enough for the acknowledgements of one change to come in, so that most changes store no transition at all. */
const holdOffMs = 200;

/** Objects in one commit; a put and a check each, well below the store's limits. */
const perCommit = 40;

export function createTransitionWriter(options: TransitionWriterOptions): TransitionWriter {
  const { mirror, store, log } = options;
  const dirty = new Set<ObjectKey>();
  /** Objects that were not Programmed when they were last looked at. */
  const unfinished = new Set<ObjectKey>();

  async function writeDirty(): Promise<void> {
    while (dirty.size > 0) {
      const puts: { key: string; value: string }[] = [];
      const deletes: string[] = [];
      const checks: { key: string; modRevision: 'exists' }[] = [];
      let looked = 0;
      for (const key of dirty) {
        dirty.delete(key);
        looked += 1;
        const stored = mirror.records.transitionsOf(key);
        const object = objectOf(mirror, key);
        if (object === undefined) {
          unfinished.delete(key);
          if (stored.length > 0) deletes.push(storeKey('transitions', key));
        } else {
          const drafts = options.conditions(key, object);
          if (drafts.some(awaitsProxies)) unfinished.add(key);
          else unfinished.delete(key);
          const transitions = transitionsOf(drafts, stored, new Date(options.now()).toISOString());
          if (transitions !== undefined) {
            puts.push({ key: storeKey('transitions', key), value: JSON.stringify({ transitions }) });
            checks.push({ key: specKey(key), modRevision: 'exists' });
          }
        }
        if (puts.length + deletes.length >= perCommit || looked >= 4 * perCommit) break;
      }
      if (puts.length + deletes.length > 0) {
        const outcome = await store.commit({ id: options.newId(), checks, puts, deletes });
        // One of them was deleted meanwhile: the others are looked at again, and it is told by the mirror.
        if (!outcome.committed) for (const { key } of checks) dirty.add(key.slice(specKey('').length));
      }
      await options.pause();
    }
  }

  const latest: Latest = createLatest({
    task: writeDirty,
    holdOffMs,
    onError: (error) => log.warn({ event: 'transitions_not_stored', err: error }),
  });

  return {
    touch(keys) {
      for (const key of keys) dirty.add(key);
      if (dirty.size > 0) latest.nudge();
    },
    progressed() {
      if (unfinished.size === 0) return;
      for (const key of unfinished) dirty.add(key);
      latest.nudge();
    },
    touchAll() {
      for (const kind of Object.keys(kinds) as Kind[]) {
        for (const key of mirror.world.kernel.keys(mirror.world.graph.objects[kind])) dirty.add(key);
      }
      latest.nudge();
    },
    close: () => latest.close(),
  };
}

/** Whether an acknowledgement can change the condition: what follows from the objects alone is touched by them. */
function awaitsProxies({ type, reason }: ConditionDraft): boolean {
  return type === 'Programmed' && (reason === 'Pending' || reason === 'RejectedByProxy');
}

/** The object as this View has it. */
export function objectOf({ world }: Mirror, key: ObjectKey): FairwayObject | undefined {
  const table = world.graph.objects[kindOf(key)];
  return table === undefined ? undefined : world.kernel.get(table, key);
}
