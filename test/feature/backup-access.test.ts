/** Who may save and restore, and who is still known afterwards. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { newDataKey } from '../../src/lib/sealer.ts';
import { pool } from '../support/api.ts';
import { type Answer, startFairway, type TestFairway } from '../support/fairway.ts';
import { until } from '../support/until.ts';

const dataKeys = newDataKey();

/** A server that asks who comes, with its folder and the token of its first administrator. */
interface Guarded {
  readonly fairway: TestFairway;
  readonly data: string;
  readonly token: string;
}

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'fairway-backup-access-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

async function start(data: string): Promise<Guarded> {
  const fairway = await startFairway({ data, dataKeys, config: { authentication: 'required' } });
  onTestFinished(() => fairway.close());
  return { fairway, data, token: (await readFile(join(data, 'admin-token'), 'utf8')).trim() };
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

function ask({ fairway }: Guarded, token: string, method: string, path: string, body?: unknown): Promise<Answer> {
  return fairway.call(method, path, body, bearer(token));
}

async function backupOf({ fairway, token }: Guarded): Promise<string> {
  const answer = await fetch(`${fairway.url}/v1/backup`, { headers: bearer(token) });
  expect(answer.status).toBe(200);
  return answer.text();
}

function restore({ fairway }: Guarded, backup: string, headers: Record<string, string>, query = ''): Promise<Answer> {
  return fairway.call('POST', `/v1/restore${query}`, backup, { 'content-type': 'application/x-ndjson', ...headers });
}

test('who is nobody, or no administrator, can neither save nor restore', async () => {
  const guarded = await start(await makeFolder());
  const backup = await backupOf(guarded);
  const made = await ask(guarded, guarded.token, 'POST', '/v1/tokens', { name: 'reader' });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  const bound = await ask(guarded, guarded.token, 'PUT', '/v1/role-bindings/reader', {
    apiVersion: 'fairway/v1',
    kind: 'RoleBinding',
    metadata: { name: 'reader' },
    spec: { subjects: [{ token: 'reader' }], role: 'admin', scopes: ['*'] },
  });
  expect(bound.status, JSON.stringify(bound.body)).toBe(201);
  for (const [headers, status] of [
    [{}, 401],
    // An administrator, but not of secrets.
    [bearer(made.body.token), 403],
  ] as [Record<string, string>, number][]) {
    expect((await fetch(`${guarded.fairway.url}/v1/backup`, { headers })).status).toBe(status);
    expect((await restore(guarded, backup, headers, '?force=true')).status).toBe(status);
  }
});

test('tokens of both stores are good after a restore: nobody is locked out of the machine where it was made', async () => {
  const source = await start(await makeFolder());
  await ask(source, source.token, 'PUT', '/v1/scopes/default/backend-pools/web', pool('web'));
  const target = await start(await makeFolder());
  // All that it holds is of its first start.
  const answer = await restore(target, await backupOf(source), bearer(target.token));
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  for (const token of [target.token, source.token]) {
    expect((await ask(target, token, 'GET', '/v1/scopes/default/backend-pools/web')).status).toBe(200);
  }
});

test('a server that waits for a restore takes it from whoever can read a file beside its data', async () => {
  const source = await start(await makeFolder());
  await ask(source, source.token, 'PUT', '/v1/scopes/default/backend-pools/web', pool('web'));
  const backup = await backupOf(source);
  const data = await makeFolder();
  await (await start(data)).fairway.close();
  const db = new DatabaseSync(join(data, 'fairway.db'));
  db.exec("INSERT INTO entries SELECT 'schema/restore', '{}', max(revision), max(revision) FROM changes");
  db.close();

  const waiting = await start(data);
  expect((await waiting.fairway.call('GET', '/readyz')).status).toBe(503);
  expect((await restore(waiting, backup, {})).status).toBe(401);
  for (const token of [source.token, waiting.token]) {
    expect((await restore(waiting, backup, bearer(token))).status).toBe(401);
  }
  const restorer = await readFile(join(data, 'restore-token'), 'utf8');
  expect((await restore(waiting, backup, bearer(restorer.trim()))).status).toBe(200);
  await until('it to be ready', async () => {
    const answer = await waiting.fairway.call('GET', '/readyz').catch(() => undefined);
    return answer?.status === 200;
  });
  expect((await ask(waiting, waiting.token, 'GET', '/v1/scopes/default/backend-pools/web')).status).toBe(200);
});
