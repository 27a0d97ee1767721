import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { openSqliteStore } from '../../src/store/index.ts';
import { storeContract } from './store.ts';

storeContract('sqlite', async (options) => {
  const folder = await mkdtemp(join(tmpdir(), 'fairway-store-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return openSqliteStore({ folder, ...options });
});
