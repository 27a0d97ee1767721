import type { Sealer } from '../lib/sealer.ts';
import { decodeStored, type ObjectKey, schemaPrefix, secretKeyPrefixes, secretsAt, specKey } from '../model/index.ts';
import { upgradeRecords } from '../status/index.ts';
import { createSealedStore, type Entry, type Store, sealAnew, type Transaction } from '../store/index.ts';
import type { Logger } from '../telemetry/log.ts';
import { checked, type DataKeySource, type DataKeys, loadDataKeys, StartRefused } from './data-keys.ts';

/**
 * What a store says of itself, and how one of an earlier version becomes one of this version.
 *
 * | version | form |
 * |---|---|
 * | 1 | no record of its version; secrets in clear; refusals and pins in one of three forms (status/former-records.ts) |
 * | 2 | secrets sealed, with a record for each data key that something may be sealed with |
 *
 * A migration is made of commits within the store's limits, each of which checks that what it replaces stands as it was
 * read. The version is written last: one that is broken off is gone through again from its beginning, and two
 * controllers that migrate at once do the same twice.
 */
export const schemaVersion = 2;

/** Of a store that is, or was, replaced by a backup. */
export const continuedKeys = { marker: `${schemaPrefix}restore`, origin: `${schemaPrefix}origin` } as const;

const versionKey = `${schemaPrefix}version`;
const dataKeyPrefix = `${schemaPrefix}data-key/`;

/** Of a data key: something in the store may be sealed with it. */
interface DataKeyRecord {
  /** `retiring`: nothing more is sealed with it, and what is gets sealed anew. */
  readonly state: 'used' | 'retiring';
}

export interface OpenSchemaOptions {
  readonly dataKeys: DataKeySource;
  readonly newId: () => string;
  readonly log: Logger;
}

/** The data keys as they are in use. */
export interface Seal {
  readonly dataKeys: DataKeys;
  /** Holds for as long as the newest of them is in use. */
  readonly fence: Transaction['checks'][number];
}

/** A store that is of this version, with its secrets open to whoever reads through it. */
export interface OpenedStore {
  readonly store: Store;
  /** Its parts are others once the keys were renewed. */
  readonly seal: Seal;
  /**
   * Reads the data keys anew, and goes over to them when they are others; true then. Throws `StartRefused` for those that
   * cannot be used: what is in use stays so.
   */
  renewDataKeys(): Promise<boolean>;
  /** Seals anew what former data keys have sealed, and tells which are not needed any more. */
  retireDataKeys(): Promise<void>;
}

/**
 * Brings a store to this version and opens its secrets. Throws `StartRefused`, before anything is written, for a store
 * of a newer version and for data keys that are not those of the store.
 */
export async function openSchema(store: Store, options: OpenSchemaOptions): Promise<OpenedStore> {
  const { newId, log } = options;
  const version = await readVersion(store);
  let dataKeys = await loadDataKeys(options.dataKeys, await neededKeys(store));
  if (dataKeys.isNew) log.info({ event: 'data_key_created', keyId: dataKeys.sealer.keyId, file: dataKeys.origin });
  let fence = await useDataKey(store, dataKeys.sealer.keyId, newId);
  if (version === undefined) await migrateFrom1(store, dataKeys, options);
  const seal: Seal = {
    get dataKeys() {
      return dataKeys;
    },
    get fence() {
      return fence;
    },
  };
  return {
    store: createSealedStore(store, {
      secretsAt,
      get sealer() {
        return dataKeys.sealer;
      },
      get fence() {
        return fence;
      },
    }),
    seal,
    async renewDataKeys() {
      if (dataKeys.isEphemeral) return false;
      // The one that seals is needed as long as nothing was sealed anew.
      const next = await loadDataKeys(options.dataKeys, [dataKeys.sealer.keyId]);
      if (isSame(next.sealer, dataKeys.sealer)) return false;
      checked(next, await neededKeys(store));
      const nextFence = await useDataKey(store, next.sealer.keyId, newId);
      // In one step: what one of them seals is checked for that one.
      [dataKeys, fence] = [next, nextFence];
      log.info({ event: 'data_keys_renewed', keyId: next.sealer.keyId, keys: next.sealer.keyIds.size });
      return true;
    },
    retireDataKeys: () => retireDataKeys(store, dataKeys, options),
  };
}

/** Ids of the data keys that something in the store may be sealed with. */
async function neededKeys(store: Store): Promise<string[]> {
  const { entries } = await store.list(dataKeyPrefix);
  return entries.map(({ key }) => key.slice(dataKeyPrefix.length));
}

function isSame(one: Sealer, other: Sealer): boolean {
  return one.keyId === other.keyId && [...one.keyIds].join() === [...other.keyIds].join();
}

/** Undefined: there is no record, so that it is empty or of version 1. */
async function readVersion(store: Store): Promise<number | undefined> {
  const entry = await store.get(versionKey);
  if (entry === undefined) return undefined;
  const { version } = JSON.parse(entry.value) as { readonly version: number };
  if (version <= schemaVersion) return version;
  throw new StartRefused(
    `opening the store: it is of version ${version}, written by a newer Fairway; this one knows versions up to ${schemaVersion}. Run the newer one, or restore a backup that was made before. Nothing was changed`,
  );
}

/** Records that something may be sealed with the key. Gives the check that holds until it is retired. */
async function useDataKey(store: Store, keyId: string, newId: () => string): Promise<Transaction['checks'][number]> {
  const key = `${dataKeyPrefix}${keyId}`;
  const value = JSON.stringify({ state: 'used' } satisfies DataKeyRecord);
  for (;;) {
    const entry = await store.get(key);
    if (entry?.value === value) return { key, modRevision: entry.modRevision };
    const checks = [{ key, modRevision: entry?.modRevision ?? 0 }];
    // Somebody else was first: read what stands there now.
    await store.commit({ id: newId(), checks, puts: [{ key, value }], deletes: [] });
  }
}

async function migrateFrom1(store: Store, { sealer }: DataKeys, { newId, log }: OpenSchemaOptions): Promise<void> {
  const { entries } = await store.list('');
  const isEmpty = entries.every(({ key }) => key.startsWith(schemaPrefix));
  if (!isEmpty) {
    log.info({ event: 'store_migrating', from: 1, to: schemaVersion });
    const records = await upgradeStoredRecords(store, entries, newId);
    const sealed = await sealAnew(store, { sealer, secretsAt, prefixes: secretKeyPrefixes, newId });
    // What stood in clear is in the log of commits, too, and in pages of the disk that are not in use.
    await store.compact?.('disk');
    log.info({ event: 'store_migrated', from: 1, to: schemaVersion, records, sealed });
  }
  // Whoever else migrates has written the same, or will find it here.
  await store.commit({
    id: newId(),
    checks: [{ key: versionKey, modRevision: 0 }],
    puts: [{ key: versionKey, value: JSON.stringify({ version: schemaVersion }) }],
    deletes: [],
  });
}

/** Far below the store's limits, also where each value has 256 KiB. */
const writesPerCommit = 4;

/** Gives the number of values that were written or taken away. */
async function upgradeStoredRecords(store: Store, read: readonly Entry[], newId: () => string): Promise<number> {
  let entries = read;
  for (let count = 0; ; ) {
    const byKey = new Map(entries.map((entry) => [entry.key, entry]));
    const writes = upgradeRecords(
      new Map(entries.map(({ key, value }) => [key, value])),
      (unit) => uidIn(byKey, unit),
      newId(),
    );
    if (writes.length === 0) return count;
    for (let at = 0; at < writes.length; at += writesPerCommit) {
      const some = writes.slice(at, at + writesPerCommit);
      const keys = some.map((write) => ('put' in write ? write.put.key : write.remove));
      const outcome = await store.commit({
        id: newId(),
        checks: keys.map((key) => ({ key, modRevision: byKey.get(key)?.modRevision ?? 0 })),
        puts: some.flatMap((write) => ('put' in write ? [write.put] : [])),
        deletes: some.flatMap((write) => ('put' in write ? [] : [write.remove])),
      });
      // Somebody else migrates the same store: look at what is left.
      if (!outcome.committed) break;
      count += some.length;
    }
    ({ entries } = await store.list(''));
  }
}

function uidIn(entries: ReadonlyMap<string, Entry>, unit: ObjectKey): string | undefined {
  const entry = entries.get(specKey(unit));
  return entry === undefined ? undefined : decodeStored(entry).metadata.uid;
}

async function retireDataKeys(store: Store, { sealer, origin }: DataKeys, options: OpenSchemaOptions): Promise<void> {
  const { newId, log } = options;
  const { entries } = await store.list(dataKeyPrefix);
  const former = entries.filter(({ key }) => key !== `${dataKeyPrefix}${sealer.keyId}`);
  if (former.length === 0) return;
  const fenced = new Map<string, number>();
  for (const { key, modRevision } of former) {
    const value = JSON.stringify({ state: 'retiring' } satisfies DataKeyRecord);
    // From here on nobody can seal with it: its check in the commits of others does not hold any more.
    const outcome = await store.commit({
      id: newId(),
      checks: [{ key, modRevision }],
      puts: [{ key, value }],
      deletes: [],
    });
    if (outcome.committed) fenced.set(key, outcome.revision);
  }
  const sealed = await sealAnew(store, { sealer, secretsAt, prefixes: secretKeyPrefixes, newId });
  // Watchers would read what the former keys have sealed.
  await store.compact?.('log');
  for (const [key, modRevision] of fenced) {
    const outcome = await store.commit({ id: newId(), checks: [{ key, modRevision }], puts: [], deletes: [key] });
    if (!outcome.committed) continue;
    const keyId = key.slice(dataKeyPrefix.length);
    log.info({ event: 'data_key_retired', keyId, sealed, origin });
  }
}
