import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runHere } from '../support/command-line.ts';
import { type Guarded, startGuarded } from '../support/guarded.ts';
import { until } from '../support/until.ts';

// API tokens over a real server: made, used, taken back; and what nobody must ever see of them.

let server: Guarded;
beforeAll(async () => {
  server = await startGuarded();
});
afterAll(() => server?.close());

const pools = '/v1/backend-pools';

describe('the first start', () => {
  it('makes an admin token that its owner alone can read, and a binding that gives it everything', async () => {
    const file = join(server.env['XDG_STATE_HOME'] as string, 'data', 'admin-token');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8')).toBe(`${server.admin}\n`);
    const { body } = await server.call(server.admin, 'GET', '/v1/whoami');
    expect(body).toEqual({
      name: 'admin',
      kind: 'token',
      groups: [],
      grants: [
        {
          binding: 'admin',
          role: 'admin',
          scopes: ['*'],
          permissions: ['machinery', 'secrets', 'system-policies', 'metrics'],
        },
      ],
    });
  });

  it('is in the audit, as what the controller did by itself, without the token', async () => {
    const { body } = await server.call(server.admin, 'GET', '/v1/audit?kind=Token');
    const [made, ...others] = body.items.filter(({ request }: { request: string }) => request === 'first start');
    expect(others).toEqual([]);
    expect(made).toMatchObject({ who: { kind: 'controller' }, from: '', outcome: 'accepted', request: 'first start' });
    const [, id = '', secret = 'none'] = server.admin.split('_');
    expect(made.objects.map(({ kind, name, change }: Record<string, string>) => [kind, name, change])).toEqual([
      ['Token', id, 'created'],
      ['RoleBinding', 'admin', 'created'],
    ]);
    expect(JSON.stringify(made)).not.toContain(secret);
  });

  it('is one: a server that finds tokens makes none', async () => {
    const count = async () => (await server.call(server.admin, 'GET', '/v1/tokens')).body.items.length;
    const before = await count();
    const { prepareAdmin } = await import('../../src/server/first-admin.ts');
    const { createLogger } = await import('../../src/telemetry/log.ts');
    const log = createLogger({ level: 'silent' });
    const options = { store: server.store, anew: false, replica: 'a', newId: () => 'x', now: Date.now, log };
    const admin = await prepareAdmin({ ...options, folder: undefined });
    await admin.close();
    expect(await count()).toBe(before);
  });

  it('of controllers that start at once makes one', async () => {
    const { prepareAdmin } = await import('../../src/server/first-admin.ts');
    const { createMemoryStore } = await import('../../src/store/index.ts');
    const { createLogger } = await import('../../src/telemetry/log.ts');
    const store = createMemoryStore();
    const log = createLogger({ level: 'silent' });
    let ids = 0;
    const options = {
      store,
      folder: undefined,
      anew: false,
      replica: 'a',
      newId: () => `id-${++ids}`,
      now: Date.now,
      log,
    };
    const admins = await Promise.all(Array.from({ length: 3 }, () => prepareAdmin(options)));
    const files = admins.filter(({ tokenFile }) => existsSync(tokenFile));
    expect(files).toHaveLength(1);
    expect((await store.list('access/token/')).entries).toHaveLength(1);
    expect((await store.list('spec/RoleBinding/')).entries).toHaveLength(1);
    for (const admin of admins) await admin.close();
    await store.close();
  });

  it('leaves it to the command line of the same user, who need say nothing', async () => {
    const env = { ...server.env, FAIRWAY_SERVER: `http://localhost:${server.port}` };
    const ran = await runHere(['whoami'], { env });
    expect(ran).toMatchObject({ code: 0, err: '' });
    expect(ran.out).toContain('admin (token)');
    expect(ran.out).toMatch(/admin +admin +\* +machinery,secrets,system-policies,metrics/);
    const stranger = await runHere(['whoami'], { env: { ...env, XDG_STATE_HOME: '/nonexistent' } });
    expect(stranger).toMatchObject({ code: 1, out: '' });
    expect(stranger.err).toContain('set FAIRWAY_TOKEN');
  });

  it('is made up for where every token is lost', async () => {
    const again = await startGuarded({}, { newAdminToken: true });
    expect((await again.call(again.admin, 'GET', '/v1/whoami')).body.name).toBe('admin');
    await again.close();
  });
});

describe('a token', () => {
  it('is shown once, and known by its name from then on', async () => {
    const made = await server.call(server.admin, 'POST', '/v1/tokens', { name: 'ci' });
    expect(made.status).toBe(201);
    expect(made.headers.get('cache-control')).toBe('no-store');
    expect(made.body).toMatchObject({ name: 'ci', createdBy: 'admin', token: expect.stringMatching(/^fwt_/) });
    const me = await server.call(made.body.token, 'GET', '/v1/whoami');
    expect(me.body).toEqual({ name: 'ci', kind: 'token', groups: [], grants: [] });
    // To say who one is gives nothing.
    expect((await server.call(made.body.token, 'GET', pools)).status).toBe(403);
    const list = await server.call(server.admin, 'GET', '/v1/tokens');
    const shown = list.body.items.find(({ id }: { id: string }) => id === made.body.id);
    expect(Object.keys(shown).sort()).toEqual(['createdAt', 'createdBy', 'id', 'name']);
  });

  it('stands in the store as a slow hash alone', async () => {
    const { token, id } = await server.mint('stored');
    const { entries } = await server.store.list('');
    const texts = entries.map(({ key, value }) => `${key} ${value}`).join('\n');
    const secret = token.slice(token.lastIndexOf('_') + 1);
    expect(texts).toContain(id);
    expect(texts).not.toContain(secret);
    expect(texts).not.toContain(secret.slice(0, 16));
    expect(JSON.parse(entries.find(({ key }) => key === `access/token/${id}`)?.value ?? '{}').hash).toMatch(
      /^scrypt\$16384\$8\$1\$[\w-]{22}\$[\w-]{43}$/,
    );
  });

  it('is refused from the moment at which it is taken back, also to those who were known', async () => {
    const { token, id } = await server.mint('short');
    expect((await server.call(token, 'GET', '/v1/whoami')).status).toBe(200);
    expect((await server.call(server.admin, 'DELETE', `/v1/tokens/${id}`)).status).toBe(200);
    expect(await server.call(token, 'GET', '/v1/whoami')).toMatchObject({
      status: 401,
      body: { code: 'Unauthenticated' },
    });
    expect((await server.call(server.admin, 'DELETE', `/v1/tokens/${id}`)).status).toBe(404);
  });

  it('ends its watches when it is taken back', async () => {
    const { token, id } = await server.mint('watcher');
    await server.bind('watchers', { subjects: [{ token: 'watcher' }], role: 'viewer', scopes: ['default'] });
    const response = await fetch(`${server.url}${pools}?watch=true`, { headers: { authorization: `Bearer ${token}` } });
    expect(response.status).toBe(200);
    let ended = false;
    const reading = (async () => {
      for await (const _ of response.body as ReadableStream<Uint8Array>);
      ended = true;
    })();
    expect((await server.call(server.admin, 'DELETE', `/v1/tokens/${id}`)).status).toBe(200);
    await until('the watch to end', async () => ended);
    await reading;
  });

  it('expires', async () => {
    const { token } = await server.mint('old', '1m');
    expect((await server.call(token, 'GET', '/v1/whoami')).status).toBe(200);
    const { entries } = await server.store.list('access/token/');
    const entry = entries.find(({ value }) => JSON.parse(value).name === 'old');
    const record = { ...JSON.parse(entry?.value ?? '{}'), expiresAt: new Date(Date.now() - 1000).toISOString() };
    const put = { key: entry?.key ?? '', value: JSON.stringify(record) };
    await server.store.commit({ id: 'time passes', checks: [], puts: [put], deletes: [] });
    await until('the token to be old', async () => (await server.call(token, 'GET', '/v1/whoami')).status === 401);
    expect(server.logged()).toContain('"fault":"expired"');
  });

  it('is known to every controller of the store, and taken back from all of them at once', async () => {
    const other = await startGuarded({ dataKeyFile: server.dataKeyFile }, { store: server.store });
    const { token, id } = await server.mint('shared');
    await until('the other one to know it', async () => (await other.call(token, 'GET', '/v1/whoami')).status === 200);
    await server.call(server.admin, 'DELETE', `/v1/tokens/${id}`);
    await until(
      'the other one to refuse it',
      async () => (await other.call(token, 'GET', '/v1/whoami')).status === 401,
    );
    await other.close();
  });

  const wrong: readonly [name: string, header: string][] = [
    ['no scheme', 'secret'],
    ['another scheme', 'Basic YWRtaW46YWRtaW4='],
    ['no form of ours', 'Bearer abc'],
    ['an unknown id', `Bearer fwt_${'0'.repeat(12)}_${'0'.repeat(52)}`],
    ['two tokens', 'Bearer a b'],
    ['nothing', 'Bearer '],
  ];
  it.each(wrong)('is refused as %s', async (_name, authorization) => {
    const response = await fetch(`${server.url}/v1/whoami`, { headers: { authorization } });
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe('Bearer realm="fairway"');
    expect(await response.json()).toMatchObject({ code: 'Unauthenticated' });
  });

  it('with a wrong secret is refused as one that is not there', async () => {
    const { token } = await server.mint('target');
    const forged = token.slice(0, -1) + (token.endsWith('0') ? '1' : '0');
    const [one, other] = [
      await server.call(forged, 'GET', '/v1/whoami'),
      await server.call('fwt_x', 'GET', '/v1/whoami'),
    ];
    expect(one.status).toBe(401);
    expect(other.status).toBe(401);
    expect((await server.call(token, 'GET', '/v1/whoami')).status).toBe(200);
  });

  it.each([
    [{}, '/name'],
    [{ name: 'Upper' }, '/name'],
    [{ name: 'a', secret: 'x' }, '/secret'],
    [{ name: 'a', expiresIn: '1s' }, '/expiresIn'],
  ])('is not made of %j', async (body, pointer) => {
    const answer = await server.call(server.admin, 'POST', '/v1/tokens', body);
    expect(answer).toMatchObject({ status: 422, body: { code: 'InvalidObject', errors: [{ pointer }] } });
  });
});

describe('who gives a token out', () => {
  it('must hold what the bindings give to its name', async () => {
    const { token } = await server.mint('web-admin');
    await server.bind('web-admins', { subjects: [{ token: 'web-admin' }], role: 'admin', scopes: ['default'] });
    await server.bind('robots', { subjects: [{ token: 'robot' }], role: 'operator', scopes: ['*'] });
    expect((await server.call(token, 'POST', '/v1/tokens', { name: 'fresh' })).status).toBe(201);
    const refused = await server.call(token, 'POST', '/v1/tokens', { name: 'robot' });
    expect(refused).toMatchObject({ status: 403, body: { detail: expect.stringContaining('RoleBinding robots') } });
    expect((await server.call(token, 'POST', '/v1/tokens', { name: 'admin' })).status).toBe(403);
    const robot = await server.mint('robot');
    expect((await server.call(token, 'DELETE', `/v1/tokens/${robot.id}`)).status).toBe(403);
  });

  it('cannot take the last one that does everything', async () => {
    const { body } = await server.call(server.admin, 'GET', '/v1/tokens');
    const { id } = body.items.find(({ name }: { name: string }) => name === 'admin');
    expect(await server.call(server.admin, 'DELETE', `/v1/tokens/${id}`)).toMatchObject({
      status: 409,
      body: { code: 'LastAdmin' },
    });
    // Another one of that name can take its place.
    const other = await server.mint('admin');
    expect((await server.call(server.admin, 'DELETE', `/v1/tokens/${other.id}`)).status).toBe(200);
  });
});

describe('the command line', () => {
  it('makes, lists and takes back', async () => {
    const env = { ...server.env, FAIRWAY_SERVER: server.url };
    const made = await runHere(['token', 'create', 'deploy', '--ttl', '720h'], { env });
    expect(made.code).toBe(0);
    expect(made.out).toMatch(/^fwt_[0-9a-z]{12}_[0-9a-z]{52}\n$/);
    const token = made.out.trim();
    const who = await runHere(['whoami', '-o', 'json'], { env: { ...env, FAIRWAY_TOKEN: token } });
    expect(JSON.parse(who.out)).toMatchObject({ name: 'deploy', kind: 'token' });
    const id = token.split('_')[1] as string;
    const list = await runHere(['token', 'list'], { env });
    expect(list.out).toMatch(new RegExp(`${id} +deploy +admin +\\d+s +in 2?\\d+d`));
    expect(list.out).not.toContain(token);
    expect((await runHere(['token', 'delete', id], { env })).out).toBe(`token/${id} deleted\n`);
    const gone = await runHere(['whoami'], { env: { ...env, FAIRWAY_TOKEN: token } });
    expect(gone.code).toBe(1);
    expect(gone.err).toContain('The token was not accepted');
  });
});

it('no token was ever logged, or answered but to whoever made it', async () => {
  const { entries } = await server.store.list('access/token/');
  expect(entries.length).toBeGreaterThan(3);
  expect(server.everything()).not.toMatch(/fwt_[0-9a-z]{12}_[0-9a-z]/);
  const hashes = entries.map(({ value }) => String(JSON.parse(value).hash));
  for (const hash of hashes) expect(server.everything()).not.toContain(hash);
});
