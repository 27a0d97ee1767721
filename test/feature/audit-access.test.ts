import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { AuditRecord } from '../../src/audit/index.ts';
import { adminTokenName } from '../../src/lib/local-server.ts';
import { startFairway, type TestFairway } from '../support/fairway.ts';
import { until } from '../support/until.ts';

// Who did what, on a server that asks everybody who they are.

let data: string;
let fairway: TestFairway;
let admin: Record<string, string>;

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

beforeAll(async () => {
  data = await mkdtemp(join(tmpdir(), 'fairway-audit-'));
  fairway = await startFairway({ data, config: { authentication: 'required' } });
  admin = bearer((await readFile(join(data, adminTokenName), 'utf8')).trim());
});
afterAll(async () => {
  await fairway?.close();
  await rm(data, { recursive: true, force: true });
});

async function records(query: string): Promise<AuditRecord[]> {
  const { status, body } = await fairway.call('GET', `/v1/audit?${query}`, undefined, admin);
  expect(status).toBe(200);
  return body.items;
}

async function recorded(query: string): Promise<AuditRecord> {
  const [record] = await until(`a record of ${query}`, async () => {
    const found = await records(query);
    return found.length > 0 && found;
  });
  return record as AuditRecord;
}

async function tokenOf(name: string, spec: object): Promise<Record<string, string>> {
  const binding = { apiVersion: 'fairway/v1', kind: 'RoleBinding', metadata: { name }, spec };
  expect((await fairway.call('PUT', `/v1/role-bindings/${name}`, binding, admin)).status).toBe(201);
  const { status, body } = await fairway.call('POST', '/v1/tokens', { name }, admin);
  expect(status, JSON.stringify(body)).toBe(201);
  return bearer(body.token);
}

const fleet = { apiVersion: 'fairway/v1', kind: 'Fleet', metadata: { name: 'edge' }, spec: {} };

it('a write is that of whoever the token is', async () => {
  expect((await fairway.call('PUT', '/v1/fleets/edge', fleet, admin)).status).toBe(201);
  expect(await recorded('kind=Fleet')).toMatchObject({ who: { name: 'admin', kind: 'token' }, outcome: 'accepted' });
});

it('a token that is made or taken back is on record, and what it is, nowhere', async () => {
  const { authorization } = await tokenOf('ci', { subjects: [{ token: 'ci' }], role: 'viewer', scopes: ['*'] });
  const [made] = await records('kind=Token');
  expect(made).toMatchObject({ who: { name: 'admin' }, request: 'POST /v1/tokens', objects: [{ change: 'created' }] });
  const secret = String(authorization).slice(-20);
  expect(JSON.stringify(await records('limit=500'))).not.toContain(secret);
  expect(fairway.logged()).not.toContain(secret);
  await fairway.call('DELETE', `/v1/tokens/${made?.objects[0]?.name}`, undefined, admin);
  expect((await records('kind=Token'))[0]?.objects).toEqual([{ ...made?.objects[0], change: 'deleted' }]);
});

it('what somebody may not do is on record under their name, reading too', async () => {
  const viewer = await tokenOf('ada', { subjects: [{ token: 'ada' }], role: 'viewer', scopes: ['default'] });
  expect((await fairway.call('DELETE', '/v1/fleets/edge', undefined, viewer)).status).toBe(403);
  expect(await recorded('who=ada&kind=Fleet')).toMatchObject({
    who: { name: 'ada', kind: 'token' },
    outcome: 'refused',
    code: 'Forbidden',
    request: 'DELETE /v1/fleets/:name',
    objects: [{ kind: 'Fleet', name: 'edge' }],
  });
  for (const path of ['/v1/audit', '/v1/events']) {
    expect((await fairway.call('GET', path, undefined, viewer)).status, path).toBe(403);
    await until('the record', async () => {
      const found = await records('who=ada&outcome=refused');
      return found.some(({ request }) => request === `GET ${path}`);
    });
  }
});

it('whoever takes everything out of the store, or puts it in, is on record, and a restore is an event', async () => {
  const taken = await fetch(`${fairway.url}/v1/backup`, { headers: admin });
  expect(taken.status).toBe(200);
  const body = await taken.text();
  await until('the record', async () =>
    (await records('who=admin')).some(({ request }) => request === 'GET /v1/backup'),
  );
  const headers = { ...admin, 'content-type': 'application/x-ndjson' };
  expect((await fairway.call('POST', '/v1/restore', body, headers)).status).toBe(409);
  expect((await fairway.call('POST', '/v1/restore?force=true', body, headers)).status).toBe(200);
  await until('the event', async () => {
    const { body: events } = await fairway.call('GET', '/v1/events?reason=Restored', undefined, admin);
    return events.items.length === 1;
  });
  await until('the records', async () => {
    const found = (await records('who=admin')).map(({ request, outcome }) => `${request} ${outcome}`);
    return found.includes('POST /v1/restore accepted') && found.includes('POST /v1/restore refused');
  });
});

it('logins that fail are on record, counted, with the address', async () => {
  for (let n = 0; n < 5; n += 1) await fairway.call('GET', '/v1/fleets', undefined, bearer('nonsense'));
  expect(await recorded('who=anonymous')).toMatchObject({
    who: { name: 'anonymous', kind: 'anonymous' },
    from: '127.0.0.1',
    outcome: 'refused',
    code: 'Unauthenticated',
    request: 'GET /v1/fleets',
  });
  expect(JSON.stringify(await records('outcome=refused'))).not.toContain('nonsense');
});

it('a watch of events ends when what it was given is taken back', async () => {
  const watcher = await tokenOf('bob', { subjects: [{ token: 'bob' }], role: 'viewer', scopes: ['*'] });
  const watching = await fetch(`${fairway.url}/v1/events?watch=true`, { headers: watcher });
  expect(watching.status).toBe(200);
  await fairway.call('DELETE', '/v1/role-bindings/bob', undefined, admin);
  await expect(watching.text()).rejects.toThrow();
}, 30_000);
