import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { certificate, pool } from '../support/api.ts';
import { runHere } from '../support/command-line.ts';
import { type Guarded, startGuarded } from '../support/guarded.ts';
import { until } from '../support/until.ts';

// Roles, scopes and permissions over a real server: what each may see and do, and that nobody gives what is not theirs.

let server: Guarded;
/** Tokens of those who have something. */
const tokens = new Map<string, string>();

const subjects = (token: string) => [{ token }];

beforeAll(async () => {
  server = await startGuarded();
  for (const name of ['viewer', 'operator', 'keeper', 'web-admin', 'engineer', 'scraper', 'nobody', 'reader']) {
    tokens.set(name, (await server.mint(name)).token);
  }
  tokens.set('admin', server.admin);
  for (const scope of ['web', 'docs']) await must('admin', 'PUT', `/v1/scopes/${scope}`, { kind: 'Scope' });
  await server.bind('viewers', { subjects: subjects('viewer'), role: 'viewer', scopes: ['web'] });
  await server.bind('operators', { subjects: subjects('operator'), role: 'operator', scopes: ['web'] });
  await server.bind('keepers', {
    subjects: subjects('keeper'),
    role: 'operator',
    scopes: ['web'],
    permissions: ['secrets'],
  });
  await server.bind('web-admins', { subjects: subjects('web-admin'), role: 'admin', scopes: ['web'] });
  await server.bind('engineers', { subjects: subjects('engineer'), permissions: ['machinery'] });
  await server.bind('scrapers', { subjects: subjects('scraper'), permissions: ['metrics'] });
  await server.bind('readers', { subjects: subjects('reader'), role: 'viewer', scopes: ['*'] });
});
afterAll(() => server?.close());

const call = (who: string, method: string, path: string, body?: unknown) =>
  server.call(tokens.get(who), method, path, body);

async function must(who: string, method: string, path: string, body?: unknown) {
  const answer = await call(who, method, path, body);
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  return answer;
}

const poolIn = (scope: string, name = 'p') => `/v1/scopes/${scope}/backend-pools/${name}`;
const certIn = (scope: string, name = 'c') => `/v1/scopes/${scope}/certificates/${name}`;
const spec = (members = 1) => ({
  kind: 'BackendPool',
  spec: pool('p').spec,
  metadata: { labels: { n: `${members}` } },
});
const names = (answer: { body: { items: { metadata: { scope: string; name: string } }[] } }) =>
  answer.body.items.map(({ metadata }) => `${metadata.scope}/${metadata.name}`);

beforeEach(async () => {
  for (const scope of ['web', 'docs']) await must('admin', 'PUT', poolIn(scope), spec());
});

describe('what is seen', () => {
  it.each([
    ['viewer', ['web/p']],
    ['operator', ['web/p']],
    ['reader', ['docs/p', 'web/p']],
    ['admin', ['docs/p', 'web/p']],
  ])('%s lists %j', async (who, want) => {
    expect(names(await must(who, 'GET', '/v1/backend-pools')).toSorted()).toEqual(want);
  });

  it('is closed where it is asked for by name, there or not', async () => {
    for (const path of [poolIn('docs'), poolIn('docs', 'gone'), '/v1/backend-pools?scope=docs']) {
      expect(await call('viewer', 'GET', path)).toMatchObject({
        status: 403,
        body: { code: 'Forbidden', detail: expect.stringContaining('it takes the role viewer in scope docs') },
      });
    }
  });

  it('is nothing for who was given nothing', async () => {
    for (const path of ['/v1/backend-pools', '/v1/fleets', '/v1/scopes', '/v1/proxies', '/v1/commits/1', '/metrics']) {
      expect((await call('nobody', 'GET', path)).status, path).toBe(403);
    }
    expect((await call('nobody', 'GET', '/v1/whoami')).status).toBe(200);
  });

  it.each([
    ['/v1/fleets', ['viewer', 'operator', 'keeper', 'web-admin', 'engineer', 'reader', 'admin']],
    ['/v1/proxies', ['engineer', 'reader', 'admin']],
    ['/v1/commits/999999', ['engineer', 'reader', 'admin']],
    ['/metrics', ['scraper', 'reader', 'admin']],
    ['/v1/role-bindings', ['web-admin', 'admin']],
    ['/v1/tokens', ['web-admin', 'admin']],
  ])('%s is for %j', async (path, who) => {
    const may: string[] = [];
    for (const name of tokens.keys()) if ((await call(name, 'GET', path)).status !== 403) may.push(name);
    expect(may.toSorted()).toEqual(who.toSorted());
  });

  it('of a watch is what may be seen, as long as it may', async () => {
    await server.bind('passing', { subjects: subjects('nobody'), role: 'viewer', scopes: ['web', 'docs'] });
    const ended = new AbortController();
    const response = await fetch(`${server.url}/v1/backend-pools?watch=true`, {
      signal: ended.signal,
      headers: { authorization: `Bearer ${tokens.get('nobody')}` },
    });
    let text = '';
    const reading = (async () => {
      for await (const chunk of response.body as ReadableStream<Uint8Array>) text += new TextDecoder().decode(chunk);
    })().catch(() => undefined);
    const seen = () =>
      [...text.matchAll(/"scope":"(\w+)","labels":\{"n":"(\d+)"/g)].map(([, scope, n]) => `${scope}${n}`);
    await until('both to be seen', async () => seen().includes('web1') && seen().includes('docs1'));
    await server.bind('passing', { subjects: subjects('nobody'), role: 'viewer', scopes: ['web'] });
    await must('admin', 'PUT', poolIn('docs'), spec(2));
    await must('admin', 'PUT', poolIn('web'), spec(3));
    await until('the other scope to be seen', async () => seen().includes('web3'));
    expect(seen()).not.toContain('docs2');
    await must('admin', 'DELETE', '/v1/role-bindings/passing');
    ended.abort();
    await reading;
  });
});

describe('what is written', () => {
  it.each([
    ['viewer', poolIn('web'), 403],
    ['operator', poolIn('web'), 200],
    ['web-admin', poolIn('web'), 200],
    ['operator', poolIn('docs'), 403],
    ['engineer', poolIn('web'), 403],
  ])('%s writes %s: %i', async (who, path, status) => {
    expect((await call(who, 'PUT', path, spec(7))).status).toBe(status);
  });

  it.each([
    ['viewer', 403],
    ['engineer', 200],
    ['web-admin', 403],
  ])('%s writes a fleet: %i', async (who, status) => {
    await must('admin', 'PUT', '/v1/fleets/edge', { kind: 'Fleet', spec: {} });
    expect((await call(who, 'PUT', '/v1/fleets/edge', { kind: 'Fleet', spec: {} })).status).toBe(status);
  });

  it('into the scope system takes a permission of its own', async () => {
    await server.bind('systems', { subjects: subjects('reader'), role: 'operator', scopes: ['system'] });
    expect((await call('reader', 'PUT', poolIn('system'), spec())).body.detail).toContain('system-policies');
    await server.bind('systems', {
      subjects: subjects('reader'),
      role: 'operator',
      scopes: ['system'],
      permissions: ['system-policies'],
    });
    expect((await call('reader', 'PUT', poolIn('system'), spec())).status).toBe(201);
    await must('admin', 'DELETE', poolIn('system'));
    await must('admin', 'DELETE', '/v1/role-bindings/systems');
  });

  it('all or none of a set, which names what is not allowed', async () => {
    const objects = ['web', 'docs'].map((scope) => ({ ...pool('set', {}, { scope }) }));
    const refused = await call('operator', 'POST', '/v1/apply', { objects });
    expect(refused).toMatchObject({ status: 403, body: { detail: expect.stringContaining('BackendPool docs/set') } });
    expect((await call('admin', 'GET', poolIn('web', 'set'))).status).toBe(404);
    const each = await call('operator', 'POST', '/v1/apply?atomic=false', { objects });
    expect(each.status).toBe(207);
    expect(each.body.objects.map(({ outcome }: { outcome: string }) => outcome)).toEqual(['created', 'failed']);
    expect(each.body.objects[1].problem.code).toBe('Forbidden');
    expect((await call('viewer', 'POST', '/v1/apply', { objects })).status).toBe(403);
  });

  it('a dry run takes what the write takes, and shows nothing else', async () => {
    expect((await call('viewer', 'PUT', `${poolIn('web')}?dryRun=true`, spec(9))).status).toBe(403);
    expect((await call('operator', 'PUT', `${poolIn('web')}?dryRun=true`, spec(9))).status).toBe(200);
    const objects = [pool('p', {}, { scope: 'docs' })];
    const dry = await call('operator', 'POST', '/v1/apply?dryRun=true', { objects });
    expect(dry.status).toBe(403);
    expect(JSON.stringify(dry.body)).not.toContain('10.0.0.1');
  });

  it('prune leaves alone what may not be seen', async () => {
    const label = { team: 'x' };
    for (const scope of ['web', 'docs']) {
      await must('admin', 'PUT', poolIn(scope, 'old'), { ...pool('old'), metadata: { labels: label } });
    }
    const objects = [pool('new', {}, { scope: 'web', labels: label })];
    await must('operator', 'POST', '/v1/apply?prune=team=x', { objects });
    expect((await call('admin', 'GET', poolIn('web', 'old'))).status).toBe(404);
    expect((await call('admin', 'GET', poolIn('docs', 'old'))).status).toBe(200);
  });
});

describe('a private key', () => {
  const chain = certificate('c').spec as { chain: string; key: string };
  const other = certificate('c', 'p384').spec as { chain: string; key: string };

  it('takes a permission of its own to be written, and to be replaced, and none to stay', async () => {
    const write = (who: string, body: object) => call(who, 'PUT', certIn('web'), { kind: 'Certificate', ...body });
    expect(await write('operator', { spec: chain })).toMatchObject({
      status: 403,
      body: { detail: expect.stringContaining('it takes the permission secrets in scope web') },
    });
    expect((await write('keeper', { spec: chain })).status).toBe(201);
    // The same key again, left out or repeated, is no new one.
    expect((await write('operator', { spec: { chain: chain.chain }, metadata: { labels: { a: 'b' } } })).status).toBe(
      200,
    );
    expect((await write('operator', { spec: chain })).status).toBe(200);
    expect((await write('operator', { spec: other })).status).toBe(403);
    const objects = [{ ...certificate('c', 'p384'), metadata: { name: 'c', scope: 'web' } }];
    expect((await call('operator', 'POST', '/v1/apply', { objects })).status).toBe(403);
    expect((await write('keeper', { spec: other })).status).toBe(200);
    expect((await call('operator', 'DELETE', certIn('web'))).status).toBe(200);
  });
});

describe('rights', () => {
  const binding = (spec: object) => ({ kind: 'RoleBinding', spec });
  const put = (who: string, name: string, spec: object) => call(who, 'PUT', `/v1/role-bindings/${name}`, binding(spec));

  it.each([
    ['web-admin', { subjects: subjects('x'), role: 'admin', scopes: ['web'] }, 201],
    ['web-admin', { subjects: subjects('x'), role: 'viewer', scopes: ['docs'] }, 403],
    ['web-admin', { subjects: subjects('x'), role: 'viewer', scopes: ['*'] }, 403],
    ['web-admin', { subjects: subjects('x'), role: 'viewer', scopes: ['web'], permissions: ['secrets'] }, 403],
    ['web-admin', { subjects: subjects('x'), permissions: ['machinery'] }, 403],
    ['keeper', { subjects: subjects('x'), role: 'viewer', scopes: ['web'] }, 403],
    ['engineer', { subjects: subjects('x'), permissions: ['machinery'] }, 403],
    ['admin', { subjects: subjects('x'), permissions: ['machinery', 'metrics'] }, 201],
  ])('%s gives %j: %i', async (who, given, status) => {
    expect((await put(who, 'given', given)).status).toBe(status);
    await call('admin', 'DELETE', '/v1/role-bindings/given');
  });

  it('of others are neither changed nor taken', async () => {
    expect((await call('web-admin', 'DELETE', '/v1/role-bindings/readers')).status).toBe(403);
    const less = { subjects: subjects('reader'), role: 'viewer', scopes: ['web'] };
    expect((await put('web-admin', 'readers', less)).status).toBe(403);
    // Nor widened: to add oneself to what others have is to take it.
    const more = { subjects: [...subjects('admin'), ...subjects('web-admin')], role: 'admin', scopes: ['*'] };
    expect((await put('web-admin', 'admin', more)).status).toBe(403);
    const patch = await call('web-admin', 'PATCH', '/v1/role-bindings/admin', { spec: { scopes: ['web'] } });
    expect(patch.status).toBe(403);
  });

  it('count from the answer on that gave them, and no longer than they are given', async () => {
    expect((await call('nobody', 'GET', poolIn('web'))).status).toBe(403);
    await server.bind('short', { subjects: subjects('nobody'), role: 'viewer', scopes: ['web'] });
    expect((await call('nobody', 'GET', poolIn('web'))).status).toBe(200);
    await must('admin', 'DELETE', '/v1/role-bindings/short');
    expect((await call('nobody', 'GET', poolIn('web'))).status).toBe(403);
  });

  it('to everything are never taken from the last who has them', async () => {
    const last = { status: 409, body: { code: 'LastAdmin' } };
    expect(await call('admin', 'DELETE', '/v1/role-bindings/admin')).toMatchObject(last);
    const less = { subjects: subjects('admin'), role: 'admin', scopes: ['*'] };
    expect(await put('admin', 'admin', less)).toMatchObject(last);
    expect(await call('admin', 'DELETE', '/v1/role-bindings/admin?dryRun=true')).toMatchObject(last);
    // A token that nobody has is nobody.
    const all = { role: 'admin', scopes: ['*'], permissions: ['machinery', 'secrets', 'system-policies', 'metrics'] };
    await server.bind('second', { subjects: subjects('ghost'), ...all } as never);
    expect(await call('admin', 'DELETE', '/v1/role-bindings/admin')).toMatchObject(last);
    await server.bind('second', { subjects: [{ user: 'ada' }], ...all } as never);
    const moved = { ...all, subjects: [...subjects('admin'), ...subjects('web-admin')] };
    expect((await put('admin', 'admin', moved)).status).toBe(200);
    await server.bind('admin', { subjects: subjects('admin'), ...all } as never);
    await must('admin', 'DELETE', '/v1/role-bindings/second');
  });

  it('of two who each take the other away, one stays', async () => {
    const all = { role: 'admin', scopes: ['*'], permissions: ['machinery', 'secrets', 'system-policies', 'metrics'] };
    await server.bind('second', { subjects: [{ user: 'ada' }], ...all } as never);
    const answers = await Promise.all([
      call('admin', 'DELETE', '/v1/role-bindings/second'),
      call('admin', 'DELETE', '/v1/role-bindings/admin'),
    ]);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    // Whichever it was: mend it for the tests after this one.
    const { entries } = await server.store.list('spec/RoleBinding/');
    expect(entries.map(({ key }) => key).filter((key) => /\/(admin|second)$/.test(key))).toHaveLength(1);
    if (answers[1]?.status === 200) {
      const { repairAdmin } = await import('../support/bindings.ts');
      await repairAdmin(server.store);
      await until(
        'the administrator to be back',
        async () => (await call('admin', 'GET', '/v1/tokens')).status === 200,
      );
    }
  });

  it('in a scope that is not there are told in the status, and hold the scope', async () => {
    await must(
      'admin',
      'PUT',
      '/v1/role-bindings/ahead',
      binding({ subjects: subjects('x'), role: 'viewer', scopes: ['late'] }),
    );
    const { body } = await call('admin', 'GET', '/v1/role-bindings/ahead');
    expect(body.status.conditions).toContainEqual(
      expect.objectContaining({ type: 'ResolvedRefs', status: 'False', reason: 'ReferenceMissing' }),
    );
    await must('admin', 'PUT', '/v1/scopes/late', { kind: 'Scope' });
    const healed = await call('admin', 'GET', '/v1/role-bindings/ahead');
    expect(healed.body.status.conditions).toContainEqual(
      expect.objectContaining({ type: 'ResolvedRefs', status: 'True' }),
    );
    expect((await call('admin', 'DELETE', '/v1/scopes/late')).body.code).toBe('StillReferenced');
    await must('admin', 'DELETE', '/v1/role-bindings/ahead');
    await must('admin', 'DELETE', '/v1/scopes/late');
  });
});

it('the command line shows everybody what is theirs', async () => {
  const env = { ...server.env, FAIRWAY_SERVER: server.url };
  const status = await runHere(['status'], { env: { ...env, FAIRWAY_TOKEN: tokens.get('viewer') as string } });
  expect(status).toMatchObject({ code: 0, err: '' });
  expect(status.out).toMatch(/Proxies: +not yours to see/);
  const bindings = await runHere(['get', 'rb', 'web-admins', '-o', 'wide'], { env });
  expect(bindings.out).toMatch(/web-admins +admin +web +- +token:web-admin/);
  const refused = await runHere(['delete', 'pool', 'p', '-n', 'web'], {
    env: { ...env, FAIRWAY_TOKEN: tokens.get('viewer') as string },
  });
  expect(refused.code).toBe(1);
  expect(refused.err).toContain('token viewer may not delete BackendPool web/p: it takes the role operator');
});

it('measurements are for everybody where the server is told so', async () => {
  const lax = await startGuarded({ openMetrics: true });
  const answer = await lax.call(undefined, 'GET', '/metrics');
  expect(answer.status).toBe(200);
  expect(answer.body).toContain('fairway_view_revision');
  expect((await lax.call(undefined, 'GET', '/v1/fleets')).status).toBe(401);
  await lax.close();
});

it('each refusal is told to the log, with who and what', () => {
  const events = server
    .logged()
    .split('\n')
    .filter((line) => line.includes('"access_refused"'))
    .map((line) => JSON.parse(line));
  expect(events).toContainEqual(
    expect.objectContaining({
      event: 'access_refused',
      identity: 'token:viewer',
      address: '127.0.0.1',
      verb: 'read',
      kind: 'BackendPool',
      scope: 'docs',
      object: 'BackendPool docs/p',
      requestId: expect.any(String),
    }),
  );
});
