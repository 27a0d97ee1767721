import { afterEach, expect, it } from 'vitest';
import type { AccessEvent } from '../../src/api/index.ts';
import { createTestApi, pool, type TestApi } from '../support/api.ts';

// What the gate tells whoever keeps an account of it.

let api: TestApi | undefined;
afterEach(() => api?.close());

it('failed logins and refusals are told as they happen, with who, from where and what', async () => {
  const events: AccessEvent[] = [];
  api = await createTestApi({ access: { authentication: 'required', onEvent: (event) => events.push(event) } });
  const call = (method: 'GET' | 'PUT', url: string, authorization?: string, body?: unknown) =>
    (api as TestApi).call(method, url, body, authorization === undefined ? {} : { authorization });
  // Nothing was tried.
  await call('GET', '/v1/backend-pools');
  expect(events).toEqual([]);

  const { body } = await call('GET', '/v1/backend-pools', 'Bearer nonsense');
  expect(events).toEqual([
    { kind: 'login-failed', requestId: body.requestId, address: '127.0.0.1', means: 'token', fault: 'malformed' },
  ]);
  events.length = 0;

  const { mintToken } = await import('../../src/api/index.ts');
  const about = { name: 'ci', createdAt: '2030-01-01T00:00:00Z', createdBy: 'a test' };
  const { text, record } = await mintToken(about);
  const put = { key: `access/token/${record.id}`, value: JSON.stringify(record) };
  const outcome = await api.store.commit({ id: 'mint', checks: [], puts: [put], deletes: [] });
  if (outcome.committed) await api.view.reached(outcome.revision, { timeoutMs: 10_000 });
  const refused = await call('PUT', '/v1/scopes/web/backend-pools/p', `Bearer ${text}`, pool('p'));
  expect(refused.status).toBe(403);
  expect(events).toEqual([
    {
      kind: 'refused',
      requestId: refused.body.requestId,
      address: '127.0.0.1',
      identity: { name: 'ci', kind: 'token', groups: [] },
      action: { verb: 'write', kind: 'BackendPool', scope: 'web', touchesSecret: false },
      object: 'BackendPool web/p',
      words: 'it takes the role operator in scope web',
    },
  ]);
  expect(JSON.stringify(events)).not.toContain(text);
});
