import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runHere } from '../support/command-line.ts';
import { type Guarded, startGuarded } from '../support/guarded.ts';
import { createTestAuthority, type IssueOptions, type TestAuthority } from '../support/test-authority.ts';
import { until } from '../support/until.ts';

// The REST API over TLS: what is spoken, who is known by a certificate, and files that change while it runs.

let folder: string;
let servers: TestAuthority;
let clients: TestAuthority;
let others: TestAuthority;
let server: Guarded;

const path = (name: string) => join(folder, name);
const write = (name: string, text: string) => writeFileSync(path(name), text);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fairway-tls-'));
  [servers, clients, others] = (await Promise.all(['servers', 'clients', 'others'].map(createTestAuthority))) as [
    TestAuthority,
    TestAuthority,
    TestAuthority,
  ];
  const own = await servers.issue('CN=first');
  write('server.pem', own.cert);
  write('server.key', own.key);
  write('clients.pem', clients.ca);
  write('servers.pem', servers.ca);
  server = await startGuarded({
    tlsCert: path('server.pem'),
    tlsKey: path('server.key'),
    tlsClientCa: path('clients.pem'),
  });
});
afterAll(async () => {
  await server?.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Asked {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers as they come
  readonly body: any;
}

/** Asks over a connection of its own, or over those of an agent. */
function ask(route: string, options: ConnectionOptions & { agent?: Agent; token?: string } = {}): Promise<Asked> {
  const { agent = false, token, ...tls } = options;
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return new Promise((resolve, reject) => {
    const sent = request(`${server.url}${route}`, { ca: servers.ca, ...tls, agent, headers }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      answer.once('end', () => resolve({ status: answer.statusCode ?? 0, body: JSON.parse(text) }));
    });
    sent.once('error', reject);
    sent.end();
  });
}

const whoami = async (subject: string, options?: IssueOptions, from = clients) =>
  ask('/v1/whoami', await from.issue(subject, options));

describe('what is spoken', () => {
  function handshake(options: ConnectionOptions): Promise<TLSSocket> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port: server.port, ca: servers.ca, ...options }, () => {
        socket.end();
        resolve(socket);
      });
      socket.once('error', reject);
    });
  }

  it.each(['TLSv1.2', 'TLSv1.3'] as const)('%s', async (version) => {
    const socket = await handshake({ minVersion: version, maxVersion: version });
    expect(socket.getProtocol()).toBe(version);
    expect(socket.getCipher().name).toMatch(/^(ECDHE-|TLS_)/);
  });

  it.each<[name: string, ConnectionOptions]>([
    ['TLS 1.1', { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' }],
    ['CBC', { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-SHA256:ECDHE-ECDSA-AES128-SHA' }],
    ['no forward secrecy', { maxVersion: 'TLSv1.2', ciphers: 'AES128-GCM-SHA256:AES256-GCM-SHA384' }],
  ])('but not %s', async (_name, options) => {
    await expect(handshake(options)).rejects.toThrow();
  });

  it('but not plain text', async () => {
    await expect(fetch(`http://127.0.0.1:${server.port}/healthz`)).rejects.toThrow();
  });

  it('takes up no session: its client was verified by the CAs of then', async () => {
    const sessions: Buffer[] = [];
    const first = connect({ host: '127.0.0.1', port: server.port, ca: servers.ca });
    first.on('session', (session) => sessions.push(session));
    await new Promise((resolve) => first.once('secureConnect', resolve));
    first.write('GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n');
    await new Promise((resolve) => first.resume().once('close', resolve));
    const session = sessions.at(-1);
    if (session === undefined) return;
    const again = await handshake({ session });
    expect(again.isSessionReused()).toBe(false);
  });
});

describe('a client certificate', () => {
  it('says who asks: its common name, and its organizations as groups', async () => {
    expect(await whoami('CN=ada, O=web, O=ops')).toMatchObject({
      status: 200,
      body: { name: 'ada', kind: 'certificate', groups: ['web', 'ops'] },
    });
  });

  it.each<[subject: string, IssueOptions['names'], name: string]>([
    ['O=web', [{ type: 'email', value: 'ada@example.com' }], 'ada@example.com'],
    ['O=web', [{ type: 'url', value: 'spiffe://fairway/ci' }], 'spiffe://fairway/ci'],
    ['O=web', [{ type: 'dns', value: 'ci.example' }], 'ci.example'],
  ])('without a common name: %s, %j', async (subject, names, name) => {
    expect((await whoami(subject, { names: names ?? [] })).body).toMatchObject({ name, groups: ['web'] });
  });

  it.each<[string, string, IssueOptions, 'clients' | 'others', fault: string]>([
    ['of another CA', 'CN=ada', {}, 'others', 'untrusted'],
    ['that has expired', 'CN=ada', { notAfter: new Date(Date.now() - 60_000) }, 'clients', 'untrusted'],
    ['that is not for clients', 'CN=ada', { uses: ['1.3.6.1.5.5.7.3.1'] as never }, 'clients', 'untrusted'],
    ['that names nobody', 'O=web', { names: [] }, 'clients', 'no-name'],
    ['of two names', 'CN=ada, CN=bob', {}, 'clients', 'no-name'],
  ])('%s is refused', async (_name, subject, options, from, fault) => {
    const answer = await whoami(subject, options, from === 'others' ? others : clients);
    expect(answer).toMatchObject({ status: 401, body: { code: 'Unauthenticated' } });
    const failed = server
      .logged()
      .split('\n')
      .filter((line) => line.includes('"login_failed"'));
    expect(JSON.parse(failed.at(-1) ?? '{}')).toMatchObject({ means: 'certificate', fault });
  });

  it('does as a role binding says', async () => {
    const ada = await clients.issue('CN=ada, O=web');
    const bind = (spec: object) =>
      runHere(['apply', '-f', '-'], {
        env: { ...server.env, ...(contexts({ ca: 'servers.pem', tokenFile: 'admin-token' }) ?? {}) },
        stdin: JSON.stringify({ apiVersion: 'fairway/v1', kind: 'RoleBinding', metadata: { name: 'web' }, spec }),
      });
    expect((await ask('/v1/backend-pools', ada)).status).toBe(403);
    const bound = await bind({ subjects: [{ group: 'web' }], role: 'viewer', scopes: ['default'] });
    expect(bound).toMatchObject({ code: 0, err: '' });
    expect((await ask('/v1/backend-pools', ada)).status).toBe(200);
    expect((await bind({ subjects: [{ user: 'eve' }], role: 'viewer', scopes: ['default'] })).code).toBe(0);
    expect((await ask('/v1/backend-pools', ada)).status).toBe(403);
  });

  it('counts less than a token, which was sent on purpose', async () => {
    const ada = await clients.issue('CN=ada');
    expect((await ask('/v1/whoami', { ...ada, token: server.admin })).body.name).toBe('admin');
    expect((await ask('/v1/whoami', { ...ada, token: 'wrong' })).status).toBe(401);
  });

  it('is not needed by who has a token, and nobody gets in without either', async () => {
    expect((await ask('/v1/whoami', { token: server.admin })).status).toBe(200);
    expect((await ask('/v1/whoami')).status).toBe(401);
  });
});

/** A context file with one context, beside the certificates. */
function contexts(fields: Record<string, string>): Record<string, string> {
  write('admin-token', `${server.admin}\n`);
  const home = { server: server.url, ...fields };
  write('contexts.yaml', JSON.stringify({ current: 'home', contexts: { home } }));
  return { FAIRWAY_CONTEXTS: path('contexts.yaml') };
}

describe('the command line', () => {
  const run = (line: string, env: Record<string, string>) =>
    runHere(line.split(' '), { env: { ...server.env, ...env } });

  it('trusts the CA of its context, and shows a certificate or a token', async () => {
    const ada = await clients.issue('CN=ada, O=web');
    write('ada.pem', ada.cert);
    write('ada.key', ada.key);
    const byCertificate = contexts({ ca: 'servers.pem', clientCert: 'ada.pem', clientKey: 'ada.key' });
    expect((await run('whoami -o json', byCertificate)).out).toContain('"certificate"');
    const byFile = contexts({ ca: 'servers.pem', tokenFile: 'admin-token' });
    expect((await run('whoami', byFile)).out).toContain('admin (token)');
    // Of a server of this user on this machine nothing need be said but whom to trust.
    expect((await run('whoami', contexts({ ca: 'servers.pem' }))).out).toContain('admin (token)');
  });

  it('saves and restores over TLS', async () => {
    const env = contexts({ ca: 'servers.pem', tokenFile: 'admin-token' });
    expect(await run(`backup ${path('store.backup')}`, env)).toMatchObject({ code: 0, err: '' });
    expect(await run(`restore --force ${path('store.backup')}`, env)).toMatchObject({ code: 0, err: '' });
  });

  it('watches over TLS too', async () => {
    const ended = new AbortController();
    let seen = '';
    const watching = runHere(['get', 'scopes', '-w', '-o', 'name'], {
      env: { ...server.env, ...contexts({ ca: 'servers.pem' }) },
      signal: ended.signal,
      onOutput: (out) => {
        seen = out;
      },
    });
    await until('the scopes to be listed', async () => seen.includes('scope/default'));
    ended.abort();
    expect((await watching).code).toBe(0);
  });

  it('does not talk to a server that it does not trust', async () => {
    const ran = await run('whoami', contexts({ tokenFile: 'admin-token' }));
    expect(ran.code).toBe(3);
    expect(ran.err).toMatch(/certificate/);
    write('other.pem', others.ca);
    expect((await run('whoami', contexts({ ca: 'other.pem' }))).code).toBe(3);
  });

  it.each([
    [{ ca: 'gone.pem' }, /gone\.pem cannot be read/],
    [{ tokenFile: 'gone' }, /gone cannot be read, or holds no token/],
    [{ clientCert: 'ada.pem' }, /clientCert and clientKey go together/],
  ])('says what of its context it cannot use: %j', async (fields, words) => {
    const ran = await run('whoami', contexts(fields as Record<string, string>));
    expect(ran).toMatchObject({ code: 2, out: '' });
    expect(ran.err).toMatch(words);
  });
});

describe('files that change', () => {
  const served = (): Promise<string | undefined> =>
    new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port: server.port, ca: servers.ca }, () => {
        resolve(String(socket.getPeerCertificate().subject.CN));
        socket.end();
      });
      socket.once('error', reject);
    });

  it('are served without a restart, whichever of the two is written first', async () => {
    expect(await served()).toBe('first');
    const next = await servers.issue('CN=second');
    write('server.key', next.key);
    // For now they do not fit: what was in force stays so.
    await until('the misfit to be told', async () => server.logged().includes('"tls_files_unusable"'));
    expect(await served()).toBe('first');
    write('server.pem', next.cert);
    await until('the new certificate', async () => (await served()) === 'second');
  });

  it('that are broken change nothing, and hold no key in the log', async () => {
    write('server.pem', 'nonsense');
    await until('the fault to be told', async () => server.logged().split('"tls_files_unusable"').length > 2);
    expect(await served()).toBe('second');
    expect(server.logged()).not.toContain('PRIVATE KEY');
    const next = await servers.issue('CN=third');
    write('server.pem', next.cert);
    write('server.key', next.key);
    await until('the new certificate', async () => (await served()) === 'third');
  });

  it('let clients of new CAs in, and those of old ones no longer, also on connections that they had', async () => {
    const [old, young] = await Promise.all([clients.issue('CN=old'), others.issue('CN=young')]);
    const agent = new Agent({ keepAlive: true, ca: servers.ca, ...old });
    expect((await ask('/v1/whoami', { agent })).body.name).toBe('old');
    expect((await ask('/v1/whoami', young)).status).toBe(401);
    write('clients.pem', clients.ca + others.ca);
    await until('both to be known', async () => (await ask('/v1/whoami', young)).status === 200);
    expect((await ask('/v1/whoami', old)).body.name).toBe('old');
    write('clients.pem', others.ca);
    await until('the old one to be out', async () => {
      const answer = await ask('/v1/whoami', { agent }).catch(() => undefined);
      return answer?.status === 401;
    });
    // Asking so often in vain has its own answer.
    expect([401, 429]).toContain((await ask('/v1/whoami', old)).status);
    expect((await ask('/v1/whoami', young)).body.name).toBe('young');
    agent.destroy();
  });
});
