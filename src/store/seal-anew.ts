import { beginSlice } from '../lib/in-slices.ts';
import { nextTurn } from '../lib/next-turn.ts';
import type { Sealer } from '../lib/sealer.ts';
import { openValue, type SecretsAt, sealingOf, sealValue } from './secrets.ts';
import type { Entry, Store } from './store.ts';

export interface SealAnewOptions {
  readonly sealer: Sealer;
  readonly secretsAt: SecretsAt;
  /** Beginnings of all keys that `secretsAt` names something for. */
  readonly prefixes: readonly string[];
  readonly newId: () => string;
}

/** Sealing so many takes a few milliseconds; far below the store's limits. */
const perCommit = 16;
const bytesPerCommit = 256 * 1024;

/**
 * Seals what stands in clear in a store, or is sealed with another key than the newest, until there is nothing of it.
 * `store` is the one below the seal. Others may write meanwhile, and the same may run elsewhere: each value is replaced
 * only as it was read. Gives the number of values that were sealed.
 */
export async function sealAnew(store: Store, options: SealAnewOptions): Promise<number> {
  let sealed = 0;
  for (const prefix of options.prefixes) {
    for (let found = Number.POSITIVE_INFINITY; found > 0; ) {
      const { entries } = await store.list(prefix);
      const old = await sealedOtherwise(entries, options);
      found = old.length;
      for (const batch of batchesOf(old)) {
        if (await commitAnew(store, batch, options)) sealed += batch.length;
        // A store in memory answers within the same turn.
        await nextTurn();
      }
    }
  }
  return sealed;
}

async function sealedOtherwise(entries: readonly Entry[], { sealer, secretsAt }: SealAnewOptions): Promise<Entry[]> {
  const found: Entry[] = [];
  const slice = beginSlice();
  for (const entry of entries) {
    const { keyIds, isClear } = sealingOf(entry.key, entry.value, secretsAt(entry.key));
    if (isClear || [...keyIds].some((id) => id !== sealer.keyId)) found.push(entry);
    await slice.pause();
  }
  return found;
}

function batchesOf(entries: readonly Entry[]): Entry[][] {
  const batches: Entry[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const entry of entries) {
    const last = batches.at(-1);
    bytes += Buffer.byteLength(entry.value);
    if (last === undefined || last.length >= perCommit || bytes > bytesPerCommit) {
      batches.push([entry]);
      bytes = Buffer.byteLength(entry.value);
    } else last.push(entry);
  }
  return batches;
}

async function commitAnew(store: Store, batch: readonly Entry[], options: SealAnewOptions): Promise<boolean> {
  const { sealer, secretsAt, newId } = options;
  const outcome = await store.commit({
    id: newId(),
    checks: batch.map(({ key, modRevision }) => ({ key, modRevision })),
    puts: batch.map(({ key, value }) => {
      const pointers = secretsAt(key);
      return { key, value: sealValue(key, openValue(key, value, pointers, sealer), pointers, sealer) };
    }),
    deletes: [],
  });
  return outcome.committed;
}
