import { randomUUID } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Backups, Restored } from '../api/index.ts';
import { type BackupEntry, type BackupHeader, encodeBackup, invalidBackup, readBackup } from '../lib/backup.ts';
import type { Clock } from '../lib/clock.ts';
import { FairwayError } from '../lib/errors.ts';
import { beginSlice } from '../lib/in-slices.ts';
import { objectKeyIn, schemaPrefix, secretsAt, storePrefixes, withCreatedRevision } from '../model/index.ts';
import {
  compareKeys,
  type Entry,
  leaderKey,
  type Origin,
  openContinuedStore,
  openValue,
  type Store,
  sealingOf,
  sealValue,
  storeLimits,
  type Transaction,
} from '../store/index.ts';
import type { Logger } from '../telemetry/log.ts';
import type { DataKeys } from './data-keys.ts';
import { continuedKeys, type Seal, schemaVersion } from './schema.ts';

export interface BackupsOptions {
  /** The store itself: secrets are sealed in it. */
  readonly store: Store;
  readonly seal: Seal;
  /** Where a backup that arrives is kept until it is known to be whole; as much room is needed as it is long. */
  readonly folder: string;
  readonly now: Clock;
  readonly newId: () => string;
  readonly log: Logger;
}

/** Of one commit of a restore: far below the store's limits. */
const perCommit = { operations: 100, bytes: 512 * 1024 };

/** Objects of these keys are in every store from the start. */
const builtIn = new Set(['Scope/default', 'Scope/system', 'RoleBinding/admin']);

/**
 * Everything in the store, out and in. One per controller. From the first write of a restore on the store is marked as not
 * whole, until a restore has come to its end.
 */
export function createBackups(options: BackupsOptions): Backups {
  const { store, seal, newId, log } = options;
  let isRestoring = false;

  async function backup(): Promise<AsyncIterable<string>> {
    const continued = await openContinuedStore(store, continuedKeys);
    if (continued.wholeSince === undefined) {
      throw new FairwayError('NotReady', 'making a backup: the store is being restored from one');
    }
    const { revision, entries } = await continued.list('');
    const kept = entries.filter(({ key }) => !isOwn(key));
    const keyIds = await sealedWith(kept);
    if (keyIds.length > 0 && seal.dataKeys.isEphemeral) {
      throw new FairwayError(
        'StoreUnavailable',
        'making a backup: its secrets are sealed with a key that ends with this process; give the server data keys first',
      );
    }
    const createdAt = new Date(options.now()).toISOString();
    log.info({ event: 'backup_made', revision, entries: kept.length });
    return encodeBackup({ storeVersion: schemaVersion, revision, createdAt, dataKeys: keyIds }, inTurns(kept));
  }

  async function restore(body: AsyncIterable<Uint8Array>, { force }: { force: boolean }): Promise<Restored> {
    if (isRestoring) throw new FairwayError('Conflict', 'restoring: another restore is under way here');
    isRestoring = true;
    try {
      await using file = await openScratch(options.folder);
      const header = await receive(body, file);
      const marker = await begin(header, force);
      const { entries, revision } = await replaceAll(file, header, marker);
      log.info({ event: 'restore_ended', entries, revision, from: header.revision });
      return {
        entries,
        revision: String(revision),
        backup: { revision: String(header.revision), createdAt: header.createdAt },
      };
    } finally {
      isRestoring = false;
    }
  }

  /** Takes a backup in, and knows in the end that all of it can be restored here. */
  async function receive(body: AsyncIterable<Uint8Array>, file: FileHandle): Promise<BackupHeader> {
    const { header, entries } = await readBackup(copied(body, (chunk) => file.appendFile(chunk)));
    checkHeader(header, seal.dataKeys);
    let before: string | undefined;
    for await (const entry of entries) {
      checkEntry(entry, before);
      prepare(entry);
      before = entry.key;
    }
    return header;
  }

  /** Marks the store as not whole. Gives the revision of the mark, which the commits of this restore check for. */
  async function begin(header: BackupHeader, force: boolean): Promise<number> {
    const { marker: key } = continuedKeys;
    const before = await store.get(key);
    // What a restore that was broken off has left is of no use to anybody.
    const isAllowed = force || before !== undefined;
    if (!isAllowed) await assertEmpty();
    const { revision, createdAt } = header;
    const value = JSON.stringify({ from: { revision, createdAt }, since: new Date(options.now()).toISOString() });
    const outcome = await store.commit({
      id: newId(),
      checks: [{ key, modRevision: before?.modRevision ?? 0 }],
      puts: [{ key, value }],
      deletes: [],
    });
    if (!outcome.committed) throw lostRace();
    log.info({ event: 'restore_begun', from: revision, repeated: before !== undefined });
    if (isAllowed) return outcome.revision;
    // Nobody can write from here on; somebody may have just before.
    await assertEmpty().catch(async (error: unknown) => {
      await store.commit({
        id: newId(),
        checks: [{ key, modRevision: outcome.revision }],
        puts: [],
        deletes: [key],
      });
      throw error;
    });
    return outcome.revision;
  }

  async function assertEmpty(): Promise<void> {
    const { entries } = await store.list('spec/');
    const objects = entries.filter(({ key }) => !builtIn.has(objectKeyIn('spec', key) ?? ''));
    if (objects.length === 0) return;
    throw new FairwayError(
      'StoreNotEmpty',
      `restoring: the store holds ${objects.length} objects; with force they are replaced by the backup`,
      { extra: { objects: objects.length } },
    );
  }

  /** Both the store and the backup are in the order of keys: one walk along both says what to put and what to delete. */
  async function replaceAll(file: FileHandle, header: BackupHeader, marker: number) {
    const { entries: present } = await store.list('');
    const former = present.map(({ key }) => key).filter((key) => !isOwn(key));
    const checks = [{ key: continuedKeys.marker, modRevision: marker }, seal.fence];
    let batch = emptyBatch();
    let count = 0;
    let at = 0;
    const flush = async (): Promise<void> => {
      const { puts, deletes } = batch;
      if (puts.length + deletes.length > 0) await commit({ id: newId(), checks, puts, deletes });
      batch = emptyBatch();
    };
    const remove = async (): Promise<void> => {
      const key = former[at++] as string;
      // Whoever is known here stays known: what they may do is what the backup says of their names.
      if (key.startsWith(storePrefixes.token)) return;
      if (batch.puts.length + batch.deletes.length >= perCommit.operations) await flush();
      batch.deletes.push(key);
    };
    const { entries } = await readBackup(file.createReadStream({ start: 0, autoClose: false }));
    for await (const entry of entries) {
      while (at < former.length && compareKeys(former[at] as string, entry.key) < 0) await remove();
      if (former[at] === entry.key) at += 1;
      const put = prepare(entry);
      const bytes = Buffer.byteLength(put.key) + Buffer.byteLength(put.value);
      const isFull = batch.puts.length + batch.deletes.length >= perCommit.operations;
      if (isFull || batch.bytes + bytes > perCommit.bytes) await flush();
      batch.puts.push(put);
      batch.bytes += bytes;
      count += 1;
    }
    while (at < former.length) await remove();
    await flush();
    return { entries: count, revision: await end(header, marker, checks) };
  }

  /** Takes the mark away, and lets the revisions go on after those of the backup and those shown until now. */
  async function end(header: BackupHeader, marker: number, checks: Transaction['checks']): Promise<number> {
    const before = await store.get(continuedKeys.origin);
    const offset = before === undefined ? 0 : (JSON.parse(before.value) as Origin).offset;
    const origin: Origin & { from: unknown } = {
      offset: Math.max(offset, header.revision - marker),
      from: { revision: header.revision, createdAt: header.createdAt },
    };
    const puts = [{ key: continuedKeys.origin, value: JSON.stringify(origin) }];
    return (await commit({ id: newId(), checks, puts, deletes: [continuedKeys.marker] })) + origin.offset;
  }

  async function commit(transaction: Transaction): Promise<number> {
    const outcome = await store.commit(transaction);
    if (!outcome.committed) throw lostRace();
    return outcome.revision;
  }

  /** The entry as this store keeps it: sealed with its newest key, and as old as it was. Throws `InvalidBackup`. */
  function prepare({ key, value, createRevision }: BackupEntry): { key: string; value: string } {
    const aged = objectKeyIn('spec', key) === undefined ? value : withCreatedRevision(value, createRevision);
    const pointers = secretsAt(key);
    if (pointers.length === 0) return { key, value: aged };
    const { sealer } = seal.dataKeys;
    try {
      return { key, value: sealValue(key, openValue(key, aged, pointers, sealer), pointers, sealer) };
    } catch (cause) {
      throw invalidBackup(`a secret in ${key} cannot be opened: it was changed, or sealed by other keys`, cause);
    }
  }

  return { backup, restore };
}

/** A file that is gone when it is closed, however the process ends. */
async function openScratch(folder: string): Promise<FileHandle> {
  const path = join(folder, `restore-${randomUUID()}`);
  try {
    const file = await open(path, 'wx+', 0o600);
    await rm(path);
    return file;
  } catch (cause) {
    throw new FairwayError(
      'StoreUnavailable',
      'restoring: there is no place for the backup to be kept while it is checked',
      {
        cause,
      },
    );
  }
}

function emptyBatch(): { puts: { key: string; value: string }[]; deletes: string[]; bytes: number } {
  return { puts: [], deletes: [], bytes: 0 };
}

function lostRace(): FairwayError {
  return new FairwayError(
    'Conflict',
    'restoring: another restore has begun meanwhile, or the data key was replaced; what is written is not whole until one has come to its end',
  );
}

/** What a store says of itself and of who is there: it stays when all else is replaced. */
function isOwn(key: string): boolean {
  return key.startsWith(schemaPrefix) || key === leaderKey;
}

function checkHeader({ storeVersion, dataKeys: needed }: BackupHeader, { sealer }: DataKeys): void {
  if (storeVersion !== schemaVersion) {
    const which = storeVersion > schemaVersion ? 'of a newer Fairway' : 'of no Fairway that made backups';
    throw invalidBackup(`it is of a store of version ${storeVersion}, ${which}; this one has version ${schemaVersion}`);
  }
  const missing = needed.filter((id) => !sealer.keyIds.has(id));
  if (missing.length === 0) return;
  throw invalidBackup(
    `its secrets are sealed with data key ${missing.join(', ')}, which this server does not have; add it above the last line of its data keys`,
  );
}

function checkEntry({ key, value }: BackupEntry, before: string | undefined): void {
  if (key === '' || !key.isWellFormed() || !value.isWellFormed() || isOwn(key)) {
    throw invalidBackup('it has an entry that no backup has');
  }
  if (before !== undefined && compareKeys(before, key) >= 0) throw invalidBackup('its entries are not in order');
  if (Buffer.byteLength(key) > storeLimits.keyBytes || Buffer.byteLength(value) > storeLimits.valueBytes) {
    throw invalidBackup('it has an entry over the limits of a store');
  }
}

/** Ids of all data keys that something in the entries is sealed with. */
async function sealedWith(entries: readonly Entry[]): Promise<readonly string[]> {
  const ids = new Set<string>();
  for await (const { key, value } of inTurns(entries)) {
    const pointers = secretsAt(key);
    if (pointers.length > 0) for (const id of sealingOf(key, value, pointers).keyIds) ids.add(id);
  }
  return [...ids].sort();
}

async function* inTurns(entries: readonly Entry[]): AsyncGenerator<Entry, void, undefined> {
  const slice = beginSlice();
  for (const entry of entries) {
    await slice.pause();
    yield entry;
  }
}

/** What passes by, after it was given to `copy`. */
async function* copied(
  chunks: AsyncIterable<Uint8Array>,
  copy: (chunk: Uint8Array) => Promise<unknown>,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const chunk of chunks) {
    await copy(chunk);
    yield chunk;
  }
}
