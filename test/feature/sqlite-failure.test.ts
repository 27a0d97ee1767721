/** What happens to callers when the thread of the embedded store ends by itself. */
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Store } from '../../src/store/index.ts';
import { openOnWorker } from '../../src/store/sqlite.ts';

const retain = { revisions: 100, bytes: 1_000_000 };

/** A thread that opens, answers nothing, and does `onRequest` when it is asked for something. */
function fakeThread(onRequest: string, first = "{ kind: 'opened', head: 0 }"): Worker {
  const code = `
    const { parentPort } = require('node:worker_threads');
    parentPort.on('message', (request) => { ${onRequest} });
    parentPort.postMessage(${first});
  `;
  return new Worker(code, { eval: true });
}

async function calls(store: Store): Promise<PromiseSettledResult<unknown>[]> {
  return Promise.allSettled([
    store.commit({ id: 'a', checks: [], puts: [{ key: 'a', value: '' }], deletes: [] }),
    store.get('a'),
    store.list(''),
    store.watch(0, new AbortController().signal)[Symbol.asyncIterator]().next(),
  ]);
}

const stopped = { status: 'rejected', reason: { name: 'FairwayError', code: 'StoreUnavailable' } };

test.each<[string, string]>([
  ['throws', "throw new Error('a bug')"],
  ['ends', 'process.exit(0)'],
  [
    'finds its data damaged',
    "parentPort.postMessage({ kind: 'damaged', fault: { code: 'Internal', message: 'bad' } }); parentPort.close()",
  ],
])('a thread that %s fails every call, under way and later, and says so once', async (_, onRequest) => {
  const onFailure = vi.fn();
  const store = await openOnWorker(fakeThread(onRequest), retain, onFailure);
  expect(await calls(store)).toMatchObject([stopped, stopped, stopped, stopped]);
  expect(await calls(store)).toMatchObject([stopped, stopped, stopped, stopped]);
  await expect(store.head()).rejects.toMatchObject({ code: 'StoreUnavailable' });
  await store.close();
  expect(onFailure.mock.calls).toMatchObject([[{ code: 'StoreUnavailable' }]]);
});

test('a thread that ends during close is no reason to wait for ever', async () => {
  const onFailure = vi.fn();
  const store = await openOnWorker(fakeThread("if (request.kind === 'close') process.exit(1)"), retain, onFailure);
  await store.close();
  expect(onFailure).toHaveBeenCalledTimes(1);
});

test('a thread that ends before it has opened fails the open', async () => {
  const worker = new Worker("throw new Error('a bug')", { eval: true });
  onTestFinished(async () => {
    await worker.terminate();
  });
  await expect(openOnWorker(worker, retain, undefined)).rejects.toMatchObject({ code: 'StoreUnavailable' });
});

test('what the thread says against opening is told', async () => {
  const worker = fakeThread('', "{ kind: 'notOpened', fault: { code: 'Internal', message: 'opening the store: no' } }");
  await expect(openOnWorker(worker, retain, undefined)).rejects.toMatchObject({
    code: 'Internal',
    message: 'opening the store: no',
  });
});
