import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createSealer, newDataKey, parseDataKeys, type Sealer } from '../../src/lib/sealer.ts';
import { createMemoryStore, createSealedStore, openSqliteStore } from '../../src/store/index.ts';
import { storeContract } from './store.ts';

/** Every value is secret, except for those that are written to be as long as a value may be. */
const secretsAt = (key: string) => (/^[kü]/.test(key) ? [] : ['']);

function sealer(): Sealer {
  const keys = parseDataKeys(newDataKey());
  if (!keys.ok) throw new Error(keys.error);
  return createSealer(keys.value);
}

storeContract('sealed memory', async (options) =>
  createSealedStore(createMemoryStore(options), { sealer: sealer(), secretsAt }),
);

storeContract('sealed sqlite', async (options) => {
  const folder = await mkdtemp(join(tmpdir(), 'fairway-store-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return createSealedStore(await openSqliteStore({ folder, ...options }), { sealer: sealer(), secretsAt });
});
