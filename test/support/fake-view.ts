import type { TokenRecord } from '../../src/access/index.ts';
import type { AuditNames, Change, Status, Tokens, View } from '../../src/api/index.ts';
import { auditKinds } from '../../src/audit/index.ts';
import { FairwayError } from '../../src/lib/errors.ts';
import {
  decodeStored,
  type FairwayObject,
  type ObjectKey,
  objectKeyIn,
  parseObjectKey,
  referencesOf,
  storeKey,
} from '../../src/model/index.ts';
import type { Store, WatchEvent } from '../../src/store/index.ts';

type Condition = Status['conditions'][number];

/** A View without graph and kernel: a Map that follows a store. Conditions are what a test says they are. */
export interface FakeView extends View {
  readonly tokens: Tokens;
  /** Gives an object a condition besides `Accepted`, by way of the store as transitions come. */
  setCondition(key: ObjectKey, type: string, status: Condition['status']): Promise<void>;
  /** Names of the records for the audit. */
  readonly audit: AuditNames;
  pin(key: ObjectKey, generation: number | undefined): void;
  /** How many listen to changes now. */
  readonly listeners: number;
  /** Holds back what is committed from now on, until `resume`. */
  pause(): void;
  resume(): void;
  close(): Promise<void>;
}

export interface FakeViewOptions {
  /** Changes kept for watches. */
  readonly kept?: number;
}

export function createFakeView(store: Store, { kept = 10_000 }: FakeViewOptions = {}): FakeView {
  const objects = new Map<ObjectKey, FairwayObject>();
  const conditions = new Map<ObjectKey, readonly Condition[]>();
  const tokens = new Map<string, TokenRecord>();
  const pins = new Map<ObjectKey, number>();
  const audit = { auditWrite: new Set<string>(), auditRefusal: new Set<string>() };
  const listeners = new Set<(revision: number, changes: readonly Change[]) => void>();
  const waiters = new Set<() => void>();
  const controller = new AbortController();
  let ring: Change[] = [];
  let completeAfter = 0;
  let revision = 0;
  let paused: WatchEvent[] | undefined;

  function adopt(event: WatchEvent): void {
    const changes: Change[] = [];
    for (const entry of event.puts) {
      const token = objectKeyIn('token', entry.key);
      if (token !== undefined) tokens.set(token, JSON.parse(entry.value));
      for (const kind of auditKinds) {
        const name = objectKeyIn(kind, entry.key);
        if (name !== undefined) audit[kind].add(name);
      }
      const key = objectKeyIn('spec', entry.key);
      if (key !== undefined) {
        const object = decodeStored(entry);
        const last = objects.get(key);
        objects.set(key, object);
        changes.push({ revision: event.revision, kind: object.kind, key, object, ...(last !== undefined && { last }) });
      }
      const shown = objectKeyIn('transitions', entry.key);
      const object = shown === undefined ? undefined : objects.get(shown);
      if (shown !== undefined && object !== undefined) {
        conditions.set(shown, JSON.parse(entry.value) as readonly Condition[]);
        changes.push({ revision: event.revision, kind: object.kind, key: shown, object, last: object });
      }
    }
    for (const deleted of event.deletes) {
      const token = objectKeyIn('token', deleted);
      if (token !== undefined) tokens.delete(token);
      const key = objectKeyIn('spec', deleted);
      const last = key === undefined ? undefined : objects.get(key);
      if (key === undefined || last === undefined) continue;
      objects.delete(key);
      conditions.delete(key);
      changes.push({ revision: event.revision, kind: last.kind, key, object: undefined, last });
    }
    revision = event.revision;
    ring.push(...changes);
    if (ring.length > kept) {
      completeAfter = ring[ring.length - kept - 1]?.revision ?? completeAfter;
      ring = ring.filter((change) => change.revision > completeAfter);
    }
    for (const listener of listeners) listener(revision, changes);
    for (const wake of waiters) wake();
  }

  const following = (async () => {
    for await (const event of store.watch(0, controller.signal)) {
      if (paused === undefined) adopt(event);
      else paused.push(event);
    }
  })();

  return {
    get revision() {
      return revision;
    },
    get listeners() {
      return listeners.size;
    },
    tokens: { get: (id) => tokens.get(id), list: () => tokens.values() },
    audit,
    get: (key) => objects.get(key),
    list: (kind) => [...objects.values()].filter((object) => object.kind === kind),
    referrers: (key) =>
      [...objects]
        .filter(([, object]) => referencesOf(object).some((reference) => reference.key === key))
        .map(([referrer]) => referrer)
        .sort(),
    status(object) {
      const { generation } = object.metadata;
      const key = [...objects].find(([, held]) => held.metadata.uid === object.metadata.uid)?.[0] ?? '';
      return {
        observedGeneration: generation,
        conditions: [condition('Accepted', 'True', generation), ...(conditions.get(key) ?? [])],
      };
    },
    pinnedGeneration: (key) => pins.get(key),
    pin(key, generation) {
      if (generation === undefined) pins.delete(key);
      else pins.set(key, generation);
    },
    async reached(wanted, { timeoutMs, signal }) {
      const end = performance.now() + timeoutMs;
      while (revision < wanted) {
        const left = end - performance.now();
        if (left <= 0) throw new FairwayError('RevisionTimeout', `waiting for revision ${wanted}: it was not reached`);
        signal?.throwIfAborted();
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, left);
          waiters.add(function wake() {
            clearTimeout(timer);
            waiters.delete(wake);
            resolve();
          });
        });
      }
    },
    changesSince: (after) => (after < completeAfter ? undefined : ring.filter((change) => change.revision > after)),
    onChanges(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async setCondition(key, type, status) {
      const generation = objects.get(key)?.metadata.generation ?? 0;
      const others = (conditions.get(key) ?? []).filter((one) => one.type !== type);
      const value = JSON.stringify([...others, condition(type, status, generation)]);
      const id = `transition-${parseObjectKey(key).name}-${type}-${status}-${revision}`;
      const outcome = await store.commit({
        id,
        checks: [],
        puts: [{ key: storeKey('transitions', key), value }],
        deletes: [],
      });
      if (outcome.committed) await this.reached(outcome.revision, { timeoutMs: 10_000 });
    },
    pause() {
      paused ??= [];
    },
    resume() {
      const events = paused ?? [];
      paused = undefined;
      for (const event of events) adopt(event);
    },
    async close() {
      controller.abort();
      await following;
    },
  };
}

function condition(type: string, status: Condition['status'], generation: number): Condition {
  return {
    type,
    status,
    reason: status === 'True' ? type : 'Pending',
    message: `said by the test`,
    observedGeneration: generation,
    lastTransitionTime: '2030-01-01T00:00:00.000Z',
  };
}
