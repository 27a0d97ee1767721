import type { TokenRecord } from '../access/index.ts';
import { type AuditKind, auditKinds } from '../audit/index.ts';
import { type ObjectKey, objectKeyIn, type StorePrefix, storeKey, storePrefixes } from '../model/index.ts';
import type { AuthorityRecord, DrainRecord, IssuedRecord } from '../plan/index.ts';
import {
  type ControllerRecord,
  type DeliveryRecord,
  decodeRejection,
  decodeSearch,
  type EventRecord,
  type NodeRecord,
  type Rejection,
  type SearchRecord,
  type Transition,
  type TransitionRecord,
} from '../status/index.ts';
import type { Entry } from '../store/store.ts';
import { createHeldObjects, type Held } from './held.ts';
import { createLongRecords, type Stored } from './long-records.ts';

/** The records of the store that no derivation reads: they matter for status and for what the leader does. */
export interface Records {
  /** By pool key: until when members that left drain. */
  readonly drains: ReadonlyMap<ObjectKey, DrainRecord>;
  readonly nodes: ReadonlyMap<string, NodeRecord>;
  /** By name of the Node: its newest certificate. */
  readonly certificates: ReadonlyMap<string, IssuedRecord>;
  readonly authorities: ReadonlyMap<string, AuthorityRecord>;
  /** By id of the controller. */
  readonly controllers: ReadonlyMap<string, ControllerRecord>;
  readonly deliveries: ReadonlyMap<string, DeliveryRecord>;
  /** By name, in the order in which they began. */
  readonly events: ReadonlyMap<string, EventRecord>;
  /** Names of the records for the audit, oldest first; their texts stay in the store. */
  readonly audit: { readonly [K in AuditKind]: ReadonlySet<string> };
  /** By `rejectionKey`. */
  readonly rejections: ReadonlyMap<string, Stored<Rejection>>;
  /** By `rejectionKey`: what was decided about the objects of refused resources. */
  readonly searches: ReadonlyMap<string, Stored<SearchRecord>>;
  readonly transitions: ReadonlyMap<ObjectKey, TransitionRecord>;
  /** API tokens, by id. */
  readonly tokens: ReadonlyMap<string, TokenRecord>;
  /** What the searches say of an object. */
  held(unit: ObjectKey): readonly Held[];
  /** Of the object with that uid; what is known of a former one of the same name does not count. */
  transitionsOf(key: ObjectKey, uid: string): readonly Transition[];
  /** Keys in the store of all that is held. */
  keys(): Iterable<string>;
}

/** What becomes of records. */
export interface RecordChanges {
  /** Objects whose conditions may be others now. */
  readonly about: ReadonlySet<ObjectKey>;
  /** Objects whose status is another, though they and their conditions are not. */
  readonly told: ReadonlySet<ObjectKey>;
  /** Refusals of which nothing is left. */
  readonly over: readonly Rejection[];
  /** Events that began or came again. */
  readonly happened: readonly EventRecord[];
}

export interface RecordsWriter extends Records {
  /**
   * Takes in the records among the states, once `apply` is called: together with the View that is made of them, so that
   * nobody sees one without the other.
   */
  prepare(states: ReadonlyMap<string, Entry | undefined>): {
    /** Of the objects whose searches change: what these say of them then. */
    readonly held: ReadonlyMap<ObjectKey, readonly Held[]>;
    apply(): RecordChanges;
  };
}

const none: readonly Transition[] = [];

export function createRecords(): RecordsWriter {
  const drains = new Map<ObjectKey, DrainRecord>();
  const nodes = new Map<string, NodeRecord>();
  const certificates = new Map<string, IssuedRecord>();
  const authorities = new Map<string, AuthorityRecord>();
  const controllers = new Map<string, ControllerRecord>();
  const deliveries = new Map<string, DeliveryRecord>();
  const events = new Map<string, EventRecord>();
  const audit: { readonly [K in AuditKind]: Set<string> } = { auditWrite: new Set(), auditRefusal: new Set() };
  const transitions = new Map<ObjectKey, TransitionRecord>();
  const tokens = new Map<string, TokenRecord>();
  const rejections = createLongRecords<Rejection>(storePrefixes.rejection, decodeRejection);
  const searches = createLongRecords<SearchRecord>(storePrefixes.pin, decodeSearch);
  const held = createHeldObjects();
  const short: readonly (readonly [StorePrefix, Map<string, unknown>])[] = [
    ['drain', drains],
    ['node', nodes],
    ['certificate', certificates],
    ['authority', authorities],
    ['controller', controllers],
    ['delivery', deliveries],
    ['event', events],
    ['transitions', transitions],
    ['token', tokens],
  ];

  function setShort(storedAt: string, entry: Entry | undefined): void {
    for (const [prefix, map] of short) {
      const name = objectKeyIn(prefix, storedAt);
      if (name === undefined) continue;
      if (entry === undefined) map.delete(name);
      else map.set(name, JSON.parse(entry.value));
      return;
    }
    for (const kind of auditKinds) {
      const name = objectKeyIn(kind, storedAt);
      if (name === undefined) continue;
      if (entry === undefined) audit[kind].delete(name);
      else audit[kind].add(name);
      return;
    }
  }

  return {
    drains,
    nodes,
    certificates,
    authorities,
    controllers,
    deliveries,
    events,
    audit,
    transitions,
    tokens,
    rejections: rejections.records,
    searches: searches.records,
    held: held.of,
    transitionsOf(key, uid) {
      const record = transitions.get(key);
      return record?.uid === uid ? record.transitions : none;
    },
    *keys() {
      for (const [prefix, map] of short) for (const name of map.keys()) yield storeKey(prefix, name);
      for (const kind of auditKinds) for (const name of audit[kind]) yield storeKey(kind, name);
      yield* rejections.keys();
      yield* searches.keys();
    },
    prepare(states) {
      const nextRejections = rejections.prepare(states);
      const nextSearches = searches.prepare(states);
      const changed = new Map([...nextSearches.changed].map(([key, stored]) => [key, stored?.record]));
      const nextHeld = held.prepare(changed);
      return {
        held: nextHeld.held,
        apply() {
          const about = new Set<ObjectKey>(nextHeld.held.keys());
          const told = new Set<ObjectKey>();
          const over: Rejection[] = [];
          const happened: EventRecord[] = [];
          for (const [key, stored] of nextRejections.changed) {
            const before = rejections.records.get(key)?.record;
            if (stored === undefined && before !== undefined) over.push(before);
            for (const one of [before, stored?.record]) for (const { unit } of one?.suspects ?? []) about.add(unit);
          }
          nextRejections.apply();
          nextSearches.apply();
          nextHeld.apply();
          for (const [storedAt, entry] of states) {
            setShort(storedAt, entry);
            const event = events.get(objectKeyIn('event', storedAt) ?? '');
            if (event !== undefined) happened.push(event);
            const node = objectKeyIn('node', storedAt);
            if (node !== undefined) about.add(`Node/${node}`);
            const issued = objectKeyIn('certificate', storedAt);
            if (issued !== undefined) told.add(`Node/${issued}`);
            const drained = objectKeyIn('drain', storedAt);
            if (drained !== undefined) told.add(drained);
            const timed = objectKeyIn('transitions', storedAt);
            if (timed !== undefined && entry !== undefined) told.add(timed);
          }
          return { about, told, over, happened };
        },
      };
    },
  };
}
