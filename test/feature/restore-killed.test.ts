/** Servers that are killed in the midst of a restore, as whole processes: what the next start finds, and makes of it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { newDataKey } from '../../src/lib/sealer.ts';
import { certificate, pool } from '../support/api.ts';
import { executable } from '../support/command-line.ts';
import { startFairway } from '../support/fairway.ts';
import { freePort } from '../support/ports.ts';
import { until } from '../support/until.ts';

// Each starts several processes, and the machine may be busy.
vi.setConfig({ testTimeout: 120_000 });

const dataKeys = newDataKey();
/** Enough for dozens of commits. */
const restoredNames = Array.from({ length: 2_000 }, (_, n) => `restored-${n}`).toSorted();
const formerNames = ['former-1', 'former-2'];

let backup: Buffer;
let base: string;

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'fairway-killed-'));
  const source = await startFairway({ dataKeys });
  await source.put(certificate('shop-tls', 'p256'));
  for (let at = 0; at < restoredNames.length; at += 50) {
    const objects = restoredNames.slice(at, at + 50).map((name) => ({ apiVersion: 'fairway/v1', ...pool(name) }));
    expect((await source.call('POST', '/v1/apply', { objects })).status).toBe(200);
  }
  backup = Buffer.from(await (await fetch(`${source.url}/v1/backup`)).arrayBuffer());
  await source.close();
});
afterAll(() => rm(base, { recursive: true }));

interface Killed {
  readonly url: string;
  /** The next line of this event. */
  logged(event: string): Promise<void>;
  kill(): Promise<void>;
}

async function start(data: string): Promise<Killed> {
  const [port, xdsPort] = [await freePort(), await freePort()];
  const listen = ['--listen', `127.0.0.1:${port}`, '--xds-listen', `127.0.0.1:${xdsPort}`];
  const env = {
    PATH: process.env['PATH'],
    XDG_STATE_HOME: join(data, 'state'),
    FAIRWAY_AUTHENTICATION: 'none',
    FAIRWAY_DATA_KEYS: dataKeys,
  };
  const child: ChildProcess = spawn(process.execPath, [executable, 'server', '--data', data, ...listen], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(child, 'close');
  const waiting = new Map<string, () => void>();
  let output = '';
  createInterface({ input: child.stderr as NonNullable<typeof child.stderr> }).on('line', (line) => {
    output += `${line}\n`;
    for (const [event, resolve] of waiting) if (line.includes(`"event":"${event}"`)) resolve();
  });
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
  };
  onTestFinished(kill);
  const url = `http://127.0.0.1:${port}`;
  await until('the server to answer', () => statusOf(`${url}/healthz`).then((status) => status === 200), {
    describe: () => output,
  });
  return {
    url,
    logged: (event) => new Promise((resolve) => waiting.set(event, resolve)),
    kill,
  };
}

async function statusOf(url: string): Promise<number> {
  return fetch(url).then(
    ({ status }) => status,
    () => 0,
  );
}

async function put(url: string, name: string): Promise<void> {
  const answer = await fetch(`${url}/v1/scopes/default/backend-pools/${name}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ apiVersion: 'fairway/v1', ...pool(name) }),
  });
  expect(answer.status).toBe(201);
}

async function namesOf(url: string): Promise<string[]> {
  const answer = await fetch(`${url}/v1/backend-pools`);
  const { items } = (await answer.json()) as { items: { metadata: { name: string } }[] };
  return items.map(({ metadata }) => metadata.name).toSorted();
}

/** Sends the backup, or its beginning alone. Does not wait for an answer: there may be none. */
function send(url: string, bytes = backup): Promise<void> {
  const headers = { 'content-type': 'application/x-ndjson', 'content-length': backup.byteLength };
  const sent = request(`${url}/v1/restore?force=true`, { method: 'POST', headers });
  sent.on('error', () => undefined);
  return new Promise((resolve) => sent.write(bytes, () => resolve()));
}

/** Bytes that the database has written since its log was begun anew. */
async function writtenBytes(data: string): Promise<number> {
  return (await stat(join(data, 'fairway.db-wal'))).size;
}

type Outcome = 'former' | 'restored' | 'unready';

/** What the next start finds: everything as it was, everything of the backup, or that the store is not whole. */
async function found(url: string): Promise<Outcome> {
  const status = await statusOf(`${url}/readyz`);
  if (status === 200) {
    const names = await namesOf(url);
    expect([formerNames, restoredNames]).toContainEqual(names);
    return names.length === formerNames.length ? 'former' : 'restored';
  }
  expect(status).toBe(503);
  expect(await statusOf(`${url}/v1/backend-pools`)).toBe(503);
  return 'unready';
}

describe('a server that is killed in the midst of a restore', () => {
  /** Once the database has written so much of it, wherever that is. */
  const onceWritten = (bytes: number) => async (server: Killed, data: string) => {
    const before = await writtenBytes(data);
    const begun = server.logged('restore_begun');
    await send(server.url);
    await begun;
    await until('so much to be written', async () => (await writtenBytes(data)) - before >= bytes, { everyMs: 1 });
  };
  type Point = (server: Killed, data: string) => Promise<void>;
  const points: readonly [when: string, run: Point, outcomes: readonly Outcome[]][] = [
    ['while the backup arrives', ({ url }) => send(url, backup.subarray(0, backup.byteLength / 2)), ['former']],
    ['as it begins to write', onceWritten(0), ['unready']],
    ['a little later', onceWritten(100_000), ['unready']],
    ['in the midst', onceWritten(400_000), ['unready', 'restored']],
    ['later still', onceWritten(800_000), ['unready', 'restored']],
    [
      'as it ends',
      async (server) => {
        const over = server.logged('restore_ended');
        await send(server.url);
        await over;
      },
      ['restored'],
    ],
  ];

  test.each(points)('%s, leaves a store that is whole, or waits for another restore', async (when, run, outcomes) => {
    const data = join(base, when.replaceAll(' ', '-'));
    const server = await start(data);
    for (const name of formerNames) await put(server.url, name);
    await run(server, data);
    await server.kill();

    const next = await start(data);
    const outcome = await until('the next start to be ready, or to wait', async () => {
      const status = await statusOf(`${next.url}/readyz`);
      const isStarting = status === 503 && !(await (await fetch(`${next.url}/readyz`)).text()).includes('restore');
      return !isStarting && found(next.url);
    });
    expect(outcomes).toContain(outcome);
    if (outcome !== 'unready') return;
    const answer = await fetch(`${next.url}/v1/restore`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-ndjson' },
      body: backup as Uint8Array<ArrayBuffer>,
    });
    expect(answer.status, await answer.text()).toBe(200);
    await until('it to be ready', async () => (await statusOf(`${next.url}/readyz`)) === 200);
    expect(await namesOf(next.url)).toEqual(restoredNames);
    // The secrets open.
    const { items } = (await (await fetch(`${next.url}/v1/certificates`)).json()) as { items: unknown[] };
    expect(items).toHaveLength(1);
  });
});
