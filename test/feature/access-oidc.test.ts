import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createOidc } from '../../src/api/auth/oidc.ts';
import { type Guarded, startGuarded } from '../support/guarded.ts';
import { type OidcIssuer, startOidcIssuer } from '../support/oidc-issuer.ts';

// Bearer tokens of an OpenID provider, over a real server and a provider on loopback; and each way to forge one.

const audience = 'fairway';
let issuer: OidcIssuer;
let server: Guarded;

beforeAll(async () => {
  issuer = await startOidcIssuer(audience);
  server = await startGuarded({ oidcIssuer: issuer.url, oidcAudience: audience });
});
afterAll(async () => {
  await server?.close();
  await issuer?.close();
});

const whoami = (token: string) => server.call(token, 'GET', '/v1/whoami');

describe('a token of the issuer', () => {
  it.each(['RS256', 'ES256', 'EdDSA'] as const)('says who asks, signed by %s', async (algorithm) => {
    const token = await issuer.token({ sub: 'ada', groups: ['web', 'ops'] }, { algorithm });
    expect((await whoami(token)).body).toEqual({ name: 'ada', kind: 'oidc', groups: ['web', 'ops'], grants: [] });
  });

  it('does as the bindings of user and groups say', async () => {
    await server.bind('web', { subjects: [{ group: 'web' }], role: 'viewer', scopes: ['default'] });
    const [member, stranger] = [await issuer.token({ sub: 'a', groups: 'web' }), await issuer.token({ sub: 'web' })];
    expect((await server.call(member, 'GET', '/v1/backend-pools')).status).toBe(200);
    expect((await server.call(stranger, 'GET', '/v1/backend-pools')).status).toBe(403);
  });

  it('may be for several audiences, and a little old', async () => {
    const now = Math.floor(Date.now() / 1000);
    expect((await whoami(await issuer.token({ sub: 'a', aud: ['other', audience] }))).status).toBe(200);
    expect((await whoami(await issuer.token({ sub: 'a', exp: now - 30 }))).status).toBe(200);
    expect((await whoami(await issuer.token({ sub: 'a', nbf: now + 30 }))).status).toBe(200);
  });
});

const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('is refused:', () => {
  const now = Math.floor(Date.now() / 1000);
  const claims = () => ({ iss: issuer.url, aud: audience, sub: 'ada', exp: now + 600 });
  const cases: readonly [name: string, token: () => Promise<string> | string, fault: string][] = [
    ['another audience', () => issuer.token({ sub: 'ada', aud: 'other' }), 'untrusted'],
    ['no audience', () => issuer.token({ sub: 'ada', aud: undefined as never }), 'untrusted'],
    ['another issuer', () => issuer.token({ sub: 'ada', iss: 'https://other.example' }), 'untrusted'],
    ['a token that has expired', () => issuer.token({ sub: 'ada', exp: now - 120 }), 'expired'],
    ['a token without an end', () => issuer.token({ sub: 'ada', exp: undefined as never }), 'untrusted'],
    ['a token that is not good yet', () => issuer.token({ sub: 'ada', nbf: now + 300 }), 'untrusted'],
    ['nobody', () => issuer.token({}), 'no-name'],
    ['a name that is none', () => issuer.token({ sub: 5 as never }), 'no-name'],
    ['a key that nobody knows', () => issuer.token({ sub: 'ada' }, { unpublished: true }), 'untrusted'],
    ['alg none', () => `${base64({ alg: 'none' })}.${base64(claims())}.`, 'malformed'],
    ['alg none with a signature', () => `${base64({ alg: 'none' })}.${base64(claims())}.AAAA`, 'untrusted'],
    [
      'the public key as a secret',
      async () => {
        const { keys } = (await (await fetch(`${issuer.url}/keys`)).json()) as { keys: { kid: string }[] };
        const head = `${base64({ alg: 'HS256', kid: keys[0]?.kid })}.${base64(claims())}`;
        const { createHmac } = await import('node:crypto');
        return `${head}.${createHmac('sha256', JSON.stringify(keys[0])).update(head).digest('base64url')}`;
      },
      'untrusted',
    ],
    [
      'claims that were changed',
      async () => {
        const [head, , signature] = (await issuer.token({ sub: 'eve' })).split('.');
        return `${head}.${base64({ ...claims(), sub: 'admin' })}.${signature}`;
      },
      'untrusted',
    ],
    ['no token at all', () => 'eyJhbGciOiJFUzI1NiJ9', 'malformed'],
    ['three parts of nonsense', () => 'a.b.c', 'malformed'],
  ];
  it.each(cases)('%s', async (_name, make, fault) => {
    const token = await make();
    const answer = await whoami(token);
    expect(answer).toMatchObject({ status: 401, body: { code: 'Unauthenticated' } });
    const failed = server
      .logged()
      .split('\n')
      .filter((line) => line.includes('"login_failed"'));
    expect(JSON.parse(failed.at(-1) ?? '{}')).toMatchObject({ means: 'oidc', fault });
    expect(server.everything()).not.toContain(token.slice(0, 40));
  });
});

describe('the issuer', () => {
  const options = () => ({ issuer: issuer.url, audience, usernameClaim: 'email', groupsClaim: 'roles', cooldownMs: 0 });

  it('is asked for its keys once, not for each token', async () => {
    const oidc = createOidc(options(), Date.now);
    const before = issuer.asked.get('/keys') ?? 0;
    const tokens = await Promise.all(['a', 'b', 'c'].map((email) => issuer.token({ email })));
    for (const token of tokens) expect((await oidc.check(token)).ok).toBe(true);
    await Promise.all(tokens.map((token) => oidc.check(token)));
    expect((issuer.asked.get('/keys') ?? 0) - before).toBe(1);
  });

  it('may replace its key: the new one is fetched, the old one is forgotten with the rest', async () => {
    const oidc = createOidc(options(), Date.now);
    const old = await issuer.token({ email: 'old' });
    expect((await oidc.check(old)).ok).toBe(true);
    await issuer.rotate({ forget: true });
    const young = await issuer.token({ email: 'young', roles: ['x'] });
    expect(await oidc.check(young)).toMatchObject({ ok: true, value: { identity: { name: 'young', groups: ['x'] } } });
    const forged = await issuer.token({ email: 'other' }, { unpublished: true });
    expect(await oidc.check(forged)).toMatchObject({ ok: false, error: { fault: 'untrusted' } });
  });

  it('that is silent keeps nobody out whose key is known, and is told from a bad token', async () => {
    const warm = createOidc(options(), Date.now);
    expect((await warm.check(await issuer.token({ email: 'a' }))).ok).toBe(true);
    issuer.silence();
    const token = await issuer.token({ email: 'b' });
    expect((await warm.check(token)).ok).toBe(true);
    const cold = createOidc(options(), Date.now);
    expect(await cold.check(token)).toMatchObject({ ok: false, error: { fault: 'issuer-unavailable' } });
    issuer.answer();
    const later = createOidc(options(), Date.now);
    expect((await later.check(token)).ok).toBe(true);
  });

  it('that is away is answered with 503, and nobody is counted as wrong for it', async () => {
    const away = await startOidcIssuer(audience);
    const other = await startGuarded({ oidcIssuer: away.url, oidcAudience: audience });
    const token = await away.token({ sub: 'ada' });
    away.silence();
    for (let i = 0; i < 30; i++) {
      const answer = await other.call(token, 'GET', '/v1/whoami');
      expect(answer).toMatchObject({ status: 503, body: { code: 'NotReady' } });
      expect(answer.headers.get('retry-after')).toBe('1');
    }
    // Nor does it matter to those who are known by other means.
    expect((await other.call(other.admin, 'GET', '/v1/whoami')).status).toBe(200);
    await other.close();
    await away.close();
  });

  it('must say that it has verified an address of mail, if that is the name', async () => {
    const oidc = createOidc(options(), Date.now);
    const [good, bad] = [
      await issuer.token({ email: 'a@b', email_verified: true }),
      await issuer.token({ email: 'c@d', email_verified: false }),
    ];
    expect((await oidc.check(good)).ok).toBe(true);
    expect(await oidc.check(bad)).toMatchObject({ ok: false, error: { fault: 'no-name' } });
  });

  it('is believed no longer than the token says, also by who remembers it', async () => {
    let now = Date.now();
    const oidc = createOidc(options(), () => now);
    const token = await issuer.token({ email: 'a', exp: Math.floor(now / 1000) + 120 });
    const login = await oidc.check(token);
    if (!login.ok) throw new Error(login.error.fault);
    expect(login.value.holds()).toBe(true);
    now += 200_000;
    expect(login.value.holds()).toBe(false);
    expect(await oidc.check(token)).toMatchObject({ ok: false, error: { fault: 'expired' } });
  });
});
