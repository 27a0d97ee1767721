import { type AuditSource, auditPut, auditRecord } from '../audit/index.ts';
import { splitHostPort } from '../config/index.ts';
import { createLatest } from '../lib/latest.ts';
import { encodeStored, newNode, objectKey, specKey, storeKey } from '../model/index.ts';
import type { NodeRecord } from '../status/index.ts';
import type { Store } from '../store/store.ts';
import type { Logger } from '../telemetry/log.ts';
import { nodeName } from './node-name.ts';
import { createTogether } from './together.ts';

/** Keeps the Node objects and what was last seen of each. One per controller, about the proxies attached to it. */
export interface NodeObserver {
  /** `peer` is its address, with a port. */
  connected(proxy: { nodeId: string; fleet: string; version: string; peer: string }, at: number): void;
  disconnected(nodeId: string, at: number): void;
  /** At start: what earlier runs of this controller recorded. Nodes left connected are given time to come back. */
  reset(records: ReadonlyMap<string, NodeRecord>, at: number): void;
  /** Everything in the store was replaced: what is seen now holds, whatever it says. */
  restored(records: ReadonlyMap<string, NodeRecord>, at: number): void;
  /** What is recorded of a node is another now, and maybe another controller's: a proxy can have moved. */
  told(name: string, record: NodeRecord | undefined): void;
  /** Somebody deleted a Node object. Its record goes too, or, while its proxy is connected, it is registered anew. */
  deleted(name: string): void;
  close(): Promise<void>;
}

export interface NodeObserverOptions {
  readonly store: Store;
  /** Id of this controller where there are others; absent: all records are its own. */
  readonly controller?: string;
  readonly newId: () => string;
  readonly log: Logger;
  /** False: a Node is made by its join and by nothing else, and a proxy without one is nobody. Default true. */
  readonly selfRegistering?: boolean;
  /** A proxy that nobody knew has a Node now. */
  readonly onRegistered?: (name: string, record: NodeRecord) => void;
}

/** A proxy whose stream breaks comes back within this time as a rule, and then nothing is written at all. */
const holdOffMs = 250;

/** After a restart of the controller proxies come back one by one, with pauses that grow. */
const returnMs = 30_000;

/** Nodes in one commit: each writes a Node, what was seen of it, and a record for the audit, within the common limits. */
const atOnce = 32;

/** Commits: a few a second, however many proxies come and go; who comes alone is told of at once. */
const pace = { perSecond: 4, burst: 8 } as const;

/**
 * What is seen is compared with what is written, once per hold-off: a proxy that was away in between, or a controller
 * that was, leaves no trace.
 */
export function createNodeObserver(options: NodeObserverOptions): NodeObserver {
  const { store, controller, newId, log, onRegistered, selfRegistering = true } = options;
  /** Node id → number of its streams. */
  const streams = new Map<string, number>();
  /** By name of the Node. */
  const written = new Map<string, NodeRecord>();
  /** By name of the Node: what is to be written; undefined: its record is to be removed. */
  const dirty = new Map<string, NodeRecord | undefined>();
  /** Node id → as it was last seen. */
  const seen = new Map<string, NodeRecord>();
  /** Node id → where its newest stream came from. */
  const peers = new Map<string, string>();
  let returning: NodeJS.Timeout | undefined;
  const together = createTogether({ store, newId, atMost: atOnce, ...pace });

  async function write(): Promise<void> {
    const waiting = [...dirty];
    for (let at = 0; at < waiting.length; at += atOnce) {
      const outcomes = await Promise.allSettled(
        waiting.slice(at, at + atOnce).map(([name, record]) => take(name, record)),
      );
      const failed = outcomes.find((outcome) => outcome.status === 'rejected');
      if (failed !== undefined) throw failed.reason;
    }
  }

  async function take(name: string, record: NodeRecord | undefined): Promise<void> {
    if (record === undefined) await remove(name);
    else if (!sameRecord(written.get(name), record)) await put(name, record);
    if (dirty.get(name) === record) dirty.delete(name);
  }

  function isOwn(record: NodeRecord): boolean {
    return controller === undefined || record.controller === undefined || record.controller === controller;
  }

  async function put(name: string, record: NodeRecord): Promise<void> {
    if (!record.connected && controller !== undefined) {
      await leave(name, record);
      return;
    }
    // A Node that was deleted does not come back because its proxy leaves, and a known one is there as a rule.
    const isRegistered = written.has(name) && (await update(name, record));
    if (!isRegistered && record.connected && !(await register(name, record))) await update(name, record);
    written.set(name, record);
  }

  /** A proxy that has left may be with another controller already: what that one says of it stands. */
  async function leave(name: string, record: NodeRecord): Promise<void> {
    const entry = await store.get(storeKey('node', name));
    const stored = entry === undefined ? undefined : (JSON.parse(entry.value) as NodeRecord);
    if (entry === undefined || stored === undefined || !isOwn(stored)) {
      if (stored === undefined) written.delete(name);
      else written.set(name, stored);
      return;
    }
    const checks = [
      { key: specKey(keyOf(name)), modRevision: 'exists' as const },
      { key: entry.key, modRevision: entry.modRevision },
    ];
    const outcome = await together.commit({ checks, puts: [observed(name, record)], deletes: [] });
    if (outcome.committed) written.set(name, record);
    else written.delete(name);
  }

  async function update(name: string, record: NodeRecord): Promise<boolean> {
    const checks = [{ key: specKey(keyOf(name)), modRevision: 'exists' as const }];
    const puts = [observed(name, record)];
    return (await together.commit({ checks, puts, deletes: [] })).committed;
  }

  async function register(name: string, record: NodeRecord): Promise<boolean> {
    if (!selfRegistering) return false;
    const node = newNode(name, { uid: newId(), createdAt: record.since });
    const created = { key: specKey(keyOf(name)), value: encodeStored(node) };
    const checks = [{ key: created.key, modRevision: 0 }];
    const id = newId();
    const admission = auditRecord(sourceOf(record.nodeId, peers.get(record.nodeId), id), Date.parse(record.since), [
      { key: keyOf(name), before: undefined, after: node },
    ]);
    const puts = [created, observed(name, record), auditPut(admission, id)];
    const { committed } = await together.commit({ checks, puts, deletes: [] });
    if (!committed) return false;
    log.info({ event: 'node_registered', node: name, nodeId: record.nodeId, fleet: record.fleet });
    log.info({ event: 'audit', ...admission });
    onRegistered?.(name, record);
    return true;
  }

  async function remove(name: string): Promise<void> {
    const checks = [{ key: specKey(keyOf(name)), modRevision: 0 }];
    await together.commit({ checks, puts: [], deletes: [storeKey('node', name)] });
  }

  const latest = createLatest({
    task: write,
    holdOffMs,
    onError: (error) => log.warn({ event: 'nodes_not_stored', err: error }),
  });

  function see(record: NodeRecord): void {
    seen.set(record.nodeId, record);
    dirty.set(nodeName(record.nodeId), record);
    latest.nudge();
  }

  function isGone(record: NodeRecord, at: number): void {
    see({ ...record, connected: false, since: new Date(at).toISOString() });
  }

  /** Takes records for what was seen last, until their proxies are seen again or do not come. */
  function expect(records: ReadonlyMap<string, NodeRecord>, at: number): void {
    for (const [name, record] of records) {
      written.set(name, record);
      if (isOwn(record)) seen.set(record.nodeId, record);
    }
    clearTimeout(returning);
    returning = setTimeout(() => {
      for (const record of records.values()) {
        if (!isOwn(record)) continue;
        if (record.connected && seen.get(record.nodeId) === record && !streams.has(record.nodeId)) isGone(record, at);
      }
    }, returnMs);
    returning.unref();
  }

  return {
    connected({ nodeId, fleet, version, peer }, at) {
      peers.set(nodeId, peer);
      streams.set(nodeId, (streams.get(nodeId) ?? 0) + 1);
      const own = controller === undefined ? {} : { controller };
      const now = { nodeId, fleet, version, connected: true, since: new Date(at).toISOString(), ...own };
      // It was away for so short a time that nobody has been told, or it has another stream.
      const known = [written.get(nodeName(nodeId)), seen.get(nodeId)].find((record) => isSameProxy(record, now));
      see(known ?? now);
    },
    disconnected(nodeId, at) {
      const left = (streams.get(nodeId) ?? 1) - 1;
      if (left > 0) {
        streams.set(nodeId, left);
        return;
      }
      streams.delete(nodeId);
      peers.delete(nodeId);
      const before = seen.get(nodeId);
      if (before !== undefined) isGone(before, at);
    },
    reset: expect,
    restored(records, at) {
      const live = [...seen.values()].filter(({ nodeId }) => streams.has(nodeId));
      written.clear();
      seen.clear();
      expect(records, at);
      for (const record of live) see(record);
    },
    told(name, record) {
      if (record === undefined) return;
      if (!isOwn(record)) written.set(name, record);
      // Somebody else believes that it is gone. While both have a stream of it, the newer record stands.
      if (record.connected || !streams.has(record.nodeId)) return;
      const here = seen.get(record.nodeId);
      if (here?.connected !== true) return;
      written.set(name, record);
      dirty.set(name, here);
      latest.nudge();
    },
    deleted(name) {
      written.delete(name);
      const records = [...seen.values()].filter(({ nodeId }) => nodeName(nodeId) === name);
      const live = records.find(({ nodeId }) => streams.has(nodeId));
      if (live === undefined) for (const { nodeId } of records) seen.delete(nodeId);
      dirty.set(name, live);
      latest.nudge();
    },
    close() {
      clearTimeout(returning);
      together.hurry();
      return latest.close();
    },
  };
}

/** A proxy that is let in says itself who it is. */
function sourceOf(nodeId: string, peer = '', requestId: string): AuditSource {
  const { host: from = '' } = splitHostPort(peer) ?? {};
  return { who: { name: nodeId, kind: 'proxy' }, from, requestId, request: 'xDS stream' };
}

/** Whether the record says that this proxy is connected. */
function isSameProxy(record: NodeRecord | undefined, now: NodeRecord): boolean {
  return record !== undefined && sameRecord({ ...record, since: now.since }, now);
}

function sameRecord(a: NodeRecord | undefined, b: NodeRecord): boolean {
  return (
    a?.nodeId === b.nodeId &&
    a.fleet === b.fleet &&
    a.version === b.version &&
    a.connected === b.connected &&
    a.controller === b.controller &&
    a.since === b.since
  );
}

function keyOf(name: string): string {
  return objectKey('Node', undefined, name);
}

function observed(name: string, record: NodeRecord): { key: string; value: string } {
  return { key: storeKey('node', name), value: JSON.stringify(record) };
}
