import type { FairwayObject } from './kinds.ts';
import type { Metadata, ObjectKey } from './meta.ts';

/**
 * How objects stand in the store: which keys, and which text. The first segment of a key is the kind of data (spec,
 * history, observed, plan, status, audit), or one of the prefixes below; nothing else in the product spells these out.
 */
export const storePrefixes = {
  spec: 'spec/',
  history: 'history/',
  pin: 'plan/pin/',
  drain: 'plan/drain/',
  authority: 'plan/authority/',
  joinToken: 'plan/join-token/',
  rejection: 'observed/rejection/',
  node: 'observed/node/',
  certificate: 'observed/certificate/',
  controller: 'observed/controller/',
  delivery: 'observed/delivery/',
  event: 'observed/event/',
  transitions: 'status/',
  auditWrite: 'audit/write/',
  auditRefusal: 'audit/refusal/',
  /** Keys of authorities. Whole values under this prefix are sealed at rest. */
  authorityKey: 'secret/authority/',
  token: 'access/token/',
} as const;

export type StorePrefix = keyof typeof storePrefixes;

/** What the store says of itself (its version, the data keys in use, a restore under way); no backup holds it. */
export const schemaPrefix = 'schema/';

/** Records that are secret as a whole. */
export const secretPrefix = 'secret/';

export function storeKey(prefix: StorePrefix, key: ObjectKey): string {
  return `${storePrefixes[prefix]}${key}`;
}

/** Digits of a generation in a history key, so that their order as text is their order. */
const generationDigits = 10;

/** Where the spec that an object had at a generation is kept after it was replaced. */
export function historyKey(key: ObjectKey, generation: number): string {
  return `${storePrefixes.history}${key}/${String(generation).padStart(generationDigits, '0')}`;
}

/** The object's key in a store key of this prefix; undefined for other keys. */
export function objectKeyIn(prefix: StorePrefix, key: string): ObjectKey | undefined {
  const start = storePrefixes[prefix];
  return key.startsWith(start) ? key.slice(start.length) : undefined;
}

/** What stands beside an object in its own entry, for its writer alone. */
export interface StoredExtras {
  /** Generations whose specs are kept as history, oldest first: so a write makes and trims them in one compare-and-set. */
  readonly history: readonly number[];
}

export interface StoredEntry {
  readonly value: string;
  readonly createRevision: number;
  readonly modRevision: number;
}

/** Where an object stands. */
export function specKey(key: ObjectKey): string {
  return storeKey('spec', key);
}

/** Metadata of an object that Fairway makes by itself; the store gives the revisions, as it does to all objects. */
export function newMetadata(name: string, { uid, createdAt }: Pick<Metadata, 'uid' | 'createdAt'>): Metadata {
  return { name, labels: {}, annotations: {}, uid, generation: 1, revision: '', createdRevision: '', createdAt };
}

/** A Node that nobody has made before its proxy came. */
export function newNode(name: string, born: Pick<Metadata, 'uid' | 'createdAt'>): FairwayObject {
  return { apiVersion: 'fairway/v1', kind: 'Node', metadata: newMetadata(name, born), spec: {} };
}

/**
 * The text of an object: all but its revision, which the store itself knows and a writer cannot. For the same reason a new
 * object has no created revision there; later on it is kept, so that it outlives a move to another store.
 */
export function encodeStored(object: FairwayObject, extras: StoredExtras = { history: [] }): string {
  const { revision: _revision, createdRevision, ...rest } = object.metadata;
  const metadata = Number(createdRevision) > 0 ? { ...rest, createdRevision } : rest;
  return JSON.stringify({ apiVersion: object.apiVersion, kind: object.kind, metadata, spec: object.spec, ...extras });
}

/** The object behind a store entry. The text is trusted: only `encodeStored` writes it. */
export function decodeStored(entry: StoredEntry): FairwayObject {
  return decodeStoredWithExtras(entry).object;
}

export function decodeStoredWithExtras(entry: StoredEntry): {
  readonly object: FairwayObject;
  readonly extras: StoredExtras;
} {
  const { history, ...object } = JSON.parse(entry.value) as FairwayObject & StoredExtras;
  const { createdRevision = String(entry.createRevision) } = object.metadata;
  const metadata = { ...object.metadata, revision: String(entry.modRevision), createdRevision };
  return { object: { ...object, metadata } as FairwayObject, extras: { history } };
}

/** The text of a stored object for another store, where it shall be as old as it is where `createRevision` comes from. */
export function withCreatedRevision(value: string, createRevision: number): string {
  const object = JSON.parse(value) as { readonly metadata: Partial<FairwayObject['metadata']> };
  if (object.metadata.createdRevision !== undefined) return value;
  return JSON.stringify({ ...object, metadata: { ...object.metadata, createdRevision: String(createRevision) } });
}
