// Before anything of @peculiar/x509, which needs it.
import 'reflect-metadata';
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { X509Certificate, X509CrlGenerator } from '@peculiar/x509';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createKeyAndRequest, webKeysOf } from '../../src/lib/certificate-request.ts';
import { createJoinToken, formatJoinToken } from '../../src/lib/join-token.ts';
import { createKey, createRoot, issueToController, issueToNode, type Root } from '../../src/pki/certificates.ts';
import { runHere } from '../support/command-line.ts';
import { startFairway, type TestFairway } from '../support/fairway.ts';
import { connectAs, type TestMember, type TestStream } from '../support/member.ts';
import { createTestAuthority } from '../support/test-authority.ts';
import { until } from '../support/until.ts';

// Mutual TLS with certificates from elsewhere, in files that change while the server runs.

const trustDomain = 'corp.example';
const hour = 3_600_000;
let folder: string;
let root: Root;
let fairway: TestFairway;
const streams: TestStream[] = [];
const path = (name: string) => join(folder, name);
const validity = () => ({ now: Date.now(), lifeMs: hour });

/** For the node by its name, or by a uid of its Node object. */
async function memberOf(signer: Root, node: string, id = node): Promise<TestMember> {
  const key = createKey();
  const publicKey = createPublicKey(createPrivateKey(key));
  const { certificate } = await issueToNode(
    signer,
    publicKey,
    { trustDomain, fleet: 'edge', node, uid: id },
    validity(),
  );
  return { node, fleet: 'edge', uid: id, certificate, key, ca: root.certificate, notAfter: '' };
}

async function writeServer(signer: Root): Promise<void> {
  const key = createKey();
  const hosts = [{ type: 'dns', value: 'localhost' }] as const;
  const publicKey = createPublicKey(createPrivateKey(key));
  const { certificate } = await issueToController(signer, publicKey, { trustDomain, hosts }, validity());
  writeFileSync(path('server.key'), key);
  writeFileSync(path('server.pem'), certificate);
}

async function revoked(of: Root, ...members: readonly TestMember[]): Promise<string> {
  const issuer = new X509Certificate(of.certificate);
  const list = await X509CrlGenerator.create({
    issuer: issuer.subject,
    thisUpdate: new Date(Date.now() - hour),
    nextUpdate: new Date(Date.now() + hour),
    signingAlgorithm: { name: 'ECDSA', hash: 'SHA-256' },
    signingKey: (await webKeysOf(of.key)).privateKey,
    entries: members.map(({ certificate }) => ({ serialNumber: new X509Certificate(certificate).serialNumber })),
  });
  // As OpenSSL calls it.
  return `${list.toString('pem').replaceAll(' CRL-', ' X509 CRL-')}\n`;
}

const config = () => ({
  xdsTls: 'files' as const,
  xdsCert: path('server.pem'),
  xdsKey: path('server.key'),
  xdsCa: path('nodes.pem'),
  xdsCrl: path('revoked.pem'),
});

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fairway-files-'));
  root = await createRoot(trustDomain, Date.now());
  await writeServer(root);
  writeFileSync(path('nodes.pem'), root.certificate);
  writeFileSync(path('revoked.pem'), await revoked(root));
  fairway = await startFairway({ config: config() });
  await fairway.put({ kind: 'Fleet', metadata: { name: 'edge' }, spec: {} });
});
afterAll(async () => {
  for (const stream of streams) stream.close();
  await fairway?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function open(member: TestMember): Promise<TestStream> {
  const stream = await connectAs(fairway, member);
  streams.push(stream);
  return stream;
}
const isConnected = async (node: string) => (await fairway.call('GET', `/v1/proxies/${node}`)).status === 200;
const connected = (node: string) => until(`${node} to be connected`, () => isConnected(node));
const ended = (stream: TestStream) => until('the end of a stream', () => stream.ends.at(-1));

describe('certificates from elsewhere', () => {
  it('are good by the name of the node, which registers itself', async () => {
    await open(await memberOf(root, 'ext-1'));
    await connected('ext-1');
    await until('its Node', async () => (await fairway.call('GET', '/v1/nodes/ext-1')).status === 200);
  });

  it('are good by the uid of the Node, until that is deleted', async () => {
    const named = await open(await memberOf(root, 'ext-2'));
    await connected('ext-2');
    const { uid } = (
      await until('its Node', async () => {
        const { status, body } = await fairway.call('GET', '/v1/nodes/ext-2');
        return status === 200 && body;
      })
    ).metadata;
    named.close();
    const stream = await open(await memberOf(root, 'ext-2', uid));
    await connected('ext-2');
    await until(
      'the former stream to be gone',
      async () =>
        (await fairway.call('GET', '/v1/proxies')).body.items.filter(({ node }: { node: string }) => node === 'ext-2')
          .length === 1,
    );
    expect((await fairway.call('DELETE', '/v1/nodes/ext-2')).status).toBe(200);
    expect((await ended(stream)).code).toBe(status.PERMISSION_DENIED);
  });

  it('have nothing to do with joining, and whoever tries is told what to do instead', async () => {
    const env = { FAIRWAY_SERVER: fairway.url };
    const made = await runHere(['token', 'create', '--node', 'ext-1', '--fleet', 'edge'], { env });
    expect(made).toMatchObject({ code: expect.any(Number), out: '' });
    expect(made.code).not.toBe(0);
    const token = formatJoinToken(createJoinToken('a'.repeat(43)));
    const { request } = await createKeyAndRequest('ext-1');
    const joined = await fairway.call('POST', '/v1/join', { token, request });
    expect(joined).toMatchObject({ status: 404, body: { code: 'NotFound' } });
    for (const words of [made.err, joined.body.detail]) {
      expect(words).toContain('this server has none of its own');
      expect(words).toContain('spiffe://DOMAIN/fleet/FLEET/node/NODE');
      expect(words).toContain('fairway envoy --cert FILE --key FILE --ca FILE');
    }
  });

  it.each([
    ['names no node', [], 'names no node: it has no URI spiffe://DOMAIN/fleet/FLEET/node/NODE'],
    [
      'names two',
      ['spiffe://corp.example/fleet/edge/node/a', 'spiffe://corp.example/fleet/edge/node/b'],
      'names more than one node',
    ],
  ])('are refused with the reason when the certificate %s', async (name, uris, words) => {
    const { ca, issue } = await createTestAuthority(`CA of ${name}`);
    writeFileSync(path('other.pem'), ca);
    const other = await startFairway({ config: { ...config(), xdsCa: path('other.pem'), xdsCrl: '' } });
    try {
      const { cert, key } = await issue('CN=x', {
        names: [{ type: 'dns', value: 'x' }, ...uris.map((value) => ({ type: 'url' as const, value }))],
      });
      const member = { node: 'x', fleet: 'edge', uid: '', certificate: cert, key, ca: root.certificate, notAfter: '' };
      const stream = await connectAs(other, member);
      streams.push(stream);
      const { code, details } = await ended(stream);
      expect([code, details]).toEqual([status.UNAUTHENTICATED, `the certificate ${words}`]);
    } finally {
      await other.close();
    }
  });

  it('shut out whoever is on the list of those revoked, also on an open stream', async () => {
    const [bad, good] = [await memberOf(root, 'ext-3'), await memberOf(root, 'ext-4')];
    const [first, other] = [await open(bad), await open(good)];
    await connected('ext-3');
    await connected('ext-4');
    const at = performance.now();
    writeFileSync(path('revoked.pem'), await revoked(root, bad));
    expect((await ended(first)).code).toBe(status.PERMISSION_DENIED);
    expect(performance.now() - at).toBeLessThan(5_000);
    const again = await open(bad);
    expect((await ended(again)).code).toBe(status.UNAVAILABLE);
    expect(other.ends).toEqual([]);
  });

  it('of another authority are taken once the files say so, and open streams go on', async () => {
    const stream = await open(await memberOf(root, 'ext-5'));
    await connected('ext-5');
    const next = await createRoot(trustDomain, Date.now());
    const early = await open(await memberOf(next, 'ext-6'));
    expect((await ended(early)).code).toBe(status.UNAVAILABLE);
    early.close();
    writeFileSync(path('revoked.pem'), (await revoked(root)) + (await revoked(next)));
    writeFileSync(path('nodes.pem'), root.certificate + next.certificate);
    // They come back by themselves.
    await open(await memberOf(next, 'ext-7'));
    await connected('ext-7');
    expect(await isConnected('ext-5')).toBe(true);
    expect(stream.ends).toEqual([]);
  });
});

describe('at the start', () => {
  it.each([
    ['a file is missing', { xdsKey: '/nonexistent' }, /private key for TLS.*ENOENT/],
    ['files do not fit', { xdsKey: 'other' }, /cannot be used together/],
  ])('it is told when %s', async (_name, more, words) => {
    writeFileSync(path('other'), createKey());
    const files = Object.fromEntries(
      Object.entries(more).map(([name, file]) => [name, file.startsWith('/') ? file : path(file)]),
    );
    await expect(startFairway({ config: { ...config(), ...files } })).rejects.toThrow(words);
  });
});
