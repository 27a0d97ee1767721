import { createLatest } from '../lib/latest.ts';
import { encodeStored, type FairwayObject, objectKey, specKey, storeKey } from '../model/index.ts';
import type { NodeRecord } from '../status/index.ts';
import type { Store } from '../store/store.ts';
import type { Logger } from '../telemetry/log.ts';
import { nodeName } from './node-name.ts';

/** Keeps the Node objects and what was last seen of each. One per controller, about the proxies attached to it. */
export interface NodeObserver {
  connected(proxy: { nodeId: string; fleet: string; version: string }, at: number): void;
  disconnected(nodeId: string, at: number): void;
  /** At start: nodes that an earlier run left as connected are not, until they come back. */
  reset(records: ReadonlyMap<string, NodeRecord>, at: number): void;
  close(): Promise<void>;
}

export interface NodeObserverOptions {
  readonly store: Store;
  readonly newId: () => string;
  readonly log: Logger;
}

/** A proxy whose stream breaks comes back within this time as a rule, and then nothing is written at all. */
const holdOffMs = 250;

export function createNodeObserver({ store, newId, log }: NodeObserverOptions): NodeObserver {
  const dirty = new Map<string, NodeRecord>();
  const streams = new Map<string, number>();
  const written = new Map<string, string>();

  async function write(): Promise<void> {
    for (const [name, record] of dirty) {
      const value = JSON.stringify(record);
      if (written.get(name) !== value) await writeNode(name, record, value);
      written.set(name, value);
      if (dirty.get(name) === record) dirty.delete(name);
    }
  }

  async function writeNode(name: string, record: NodeRecord, value: string): Promise<void> {
    const key = objectKey('Node', undefined, name);
    const observed = { key: storeKey('node', name), value };
    if (!record.connected) {
      // A node that was deleted meanwhile must not come back as a record.
      const checks = [{ key: specKey(key), modRevision: 'exists' as const }];
      await store.commit({ id: newId(), checks, puts: [observed], deletes: [] });
      return;
    }
    const created = { key: specKey(key), value: encodeStored(newNode(name, record, newId())) };
    const checks = [{ key: created.key, modRevision: 0 }];
    const outcome = await store.commit({ id: newId(), checks, puts: [created, observed], deletes: [] });
    if (outcome.committed)
      log.info({ event: 'node_registered', node: name, nodeId: record.nodeId, fleet: record.fleet });
    else await store.commit({ id: newId(), checks: [], puts: [observed], deletes: [] });
  }

  const latest = createLatest({
    task: write,
    holdOffMs,
    onError: (error) => log.warn({ event: 'nodes_not_stored', err: error }),
  });

  function note(record: NodeRecord): void {
    dirty.set(nodeName(record.nodeId), record);
    latest.nudge();
  }

  const seen = new Map<string, NodeRecord>();
  return {
    connected({ nodeId, fleet, version }, at) {
      streams.set(nodeId, (streams.get(nodeId) ?? 0) + 1);
      const before = seen.get(nodeId);
      const same = before?.connected === true && before.fleet === fleet && before.version === version;
      const record = same ? before : { nodeId, fleet, version, connected: true, since: new Date(at).toISOString() };
      seen.set(nodeId, record);
      note(record);
    },
    disconnected(nodeId, at) {
      const left = (streams.get(nodeId) ?? 1) - 1;
      if (left > 0) {
        streams.set(nodeId, left);
        return;
      }
      streams.delete(nodeId);
      const before = seen.get(nodeId);
      if (before === undefined) return;
      const record = { ...before, connected: false, since: new Date(at).toISOString() };
      seen.set(nodeId, record);
      note(record);
    },
    reset(records, at) {
      for (const [name, record] of records) {
        written.set(name, JSON.stringify(record));
        seen.set(record.nodeId, record);
        if (!record.connected || streams.has(record.nodeId)) continue;
        const gone = { ...record, connected: false, since: new Date(at).toISOString() };
        seen.set(record.nodeId, gone);
        note(gone);
      }
    },
    close: () => latest.close(),
  };
}

function newNode(name: string, record: NodeRecord, uid: string): FairwayObject {
  return {
    apiVersion: 'fairway/v1',
    kind: 'Node',
    metadata: {
      name,
      labels: {},
      annotations: {},
      uid,
      generation: 1,
      revision: '0',
      createdRevision: '0',
      createdAt: record.since,
    },
    spec: {},
  };
}
