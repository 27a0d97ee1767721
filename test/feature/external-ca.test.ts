import { X509Certificate } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ServerConfig } from '../../src/config/index.ts';
import { createMemoryStore, type Store } from '../../src/store/index.ts';
import { runHere } from '../support/command-line.ts';
import { type CaPaths, type CompanyCa, createCompanyRoot, writeCa } from '../support/company-ca.ts';
import { startFairway, type TestFairway } from '../support/fairway.ts';
import { connectAs, joinAs, renewAs, type TestMember, type TestStream } from '../support/member.ts';
import { unclosing } from '../support/unclosing.ts';
import { until } from '../support/until.ts';

// A CA that a company's root has signed, in files: it signs for nodes and controllers as an own root does.

const day = 86_400_000;
let root: CompanyCa;
let otherRoot: CompanyCa;
let one: CompanyCa;
let two: CompanyCa;
let beyond: CompanyCa;
let folder: string;
let store: Store;
const running: TestFairway[] = [];
const streams: TestStream[] = [];

beforeAll(async () => {
  [root, otherRoot] = [await createCompanyRoot('Root 1'), await createCompanyRoot('Root 2')];
  [one, two] = [await root.sign('CA 1', { pathLength: 0 }), await root.sign('CA 2', { pathLength: 0 })];
  beyond = await otherRoot.sign('CA 3', { pathLength: 0 });
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairway-company-'));
  store = createMemoryStore();
});
afterEach(async () => {
  for (const stream of streams.splice(0)) stream.close();
  for (const fairway of running.splice(0)) await fairway.close();
  rmSync(folder, { recursive: true, force: true });
});

const write = (ca: CompanyCa, below: CompanyCa, name?: string) => writeCa(folder, ca, below, name);

async function start(files: CaPaths | undefined, config: Partial<ServerConfig> = {}): Promise<TestFairway> {
  const fairway = await startFairway({
    store: unclosing(store),
    rotationFollowMs: 100,
    config: { xdsTls: 'own', ...files, ...config },
  });
  running.push(fairway);
  return fairway;
}

async function serving(fairway: TestFairway, member: TestMember): Promise<TestStream> {
  const stream = await connectAs(fairway, member);
  streams.push(stream);
  await until('the proxy', async () => (await fairway.call('GET', `/v1/proxies/${member.node}`)).status === 200);
  return stream;
}

/** What the xDS door shows, with its issuer. */
function shown(fairway: TestFairway, member: TestMember): Promise<X509Certificate> {
  return new Promise((resolve, reject) => {
    const { ca, certificate: cert, key } = member;
    const options = { port: fairway.xdsPort, host: '127.0.0.1', ca, cert, key, ALPNProtocols: ['h2'] };
    const socket = connect({ ...options, checkServerIdentity: () => undefined }, () => {
      const certificate = socket.getPeerX509Certificate();
      socket.destroy();
      if (certificate === undefined) reject(new Error('no certificate'));
      else resolve(certificate);
    });
    socket.once('error', reject);
  });
}

const isBy = (ca: CompanyCa, certificate: X509Certificate) =>
  certificate.verify(new X509Certificate(ca.cert).publicKey);
const leafOf = ({ certificate }: TestMember) => new X509Certificate(certificate);
const authority = async (fairway: TestFairway) => (await fairway.call('GET', '/v1/ca')).body;
const rotation = async (fairway: TestFairway) => (await fairway.call('GET', '/v1/ca/rotation')).body;

describe('a CA in files', () => {
  it('signs for nodes that join and renew, and for the controller, below its root alone', async () => {
    const fairway = await start(write(one, root));
    const member = await joinAs(fairway, 'lb-1');
    expect(member.ca.trim()).toBe(root.cert.trim());
    expect(member.certificate.match(/BEGIN/g)).toHaveLength(2);
    expect(isBy(one, leafOf(member))).toBe(true);
    expect(leafOf(member).subjectAltName).toContain(`/fleet/edge/node/${member.uid}`);
    const stream = await serving(fairway, member);
    expect(isBy(one, await shown(fairway, member))).toBe(true);
    const { status, member: renewed } = await renewAs(fairway, member);
    expect(status).toBe(200);
    await serving(fairway, renewed);
    expect(stream.ends).toEqual([]);
    expect(await authority(fairway)).toMatchObject({ source: 'Files', expiring: false });
    // Deleting the Node shuts it out, as ever.
    await fairway.call('DELETE', '/v1/nodes/lb-1');
    await until('the end of the stream', () => stream.ends.length > 0);
    expect((await renewAs(fairway, renewed)).status).toBe(403);
  });

  it('renews for nobody without the CAs between a certificate and the root', async () => {
    const fairway = await start(write(one, root));
    const member = await joinAs(fairway, 'lb-1');
    const [leaf = ''] = member.certificate.split(/(?<=-----END CERTIFICATE-----\n)/);
    expect(await renewAs(fairway, member, { certificate: leaf })).toMatchObject({
      status: 401,
      body: { detail: expect.stringContaining('is not signed by this authority') },
    });
  });

  it('keeps its key out of the store, of logs and of answers', async () => {
    const fairway = await start(write(one, root));
    await joinAs(fairway, 'lb-1');
    writeFileSync(join(folder, 'ca.pem'), 'broken');
    await until('the word about it', () => fairway.logged().includes('ca_files_unusable'));
    const secret = one.key.split('\n')[1] ?? '-';
    const { entries } = await store.list('');
    expect(entries.filter(({ key }) => key.startsWith('secret/authority/'))).toEqual([]);
    const told = JSON.stringify([entries, await authority(fairway), await rotation(fairway)]) + fairway.logged();
    expect(told).not.toContain(secret);
    expect(told).not.toContain('PRIVATE KEY');
  });

  it('is not replaced by a command', async () => {
    const fairway = await start(write(one, root));
    expect(await fairway.call('POST', '/v1/ca/rotation')).toMatchObject({
      status: 409,
      body: { code: 'ReadOnly', detail: expect.stringContaining('caCert') },
    });
    const said = await runHere(['ca', 'rotate'], { env: { FAIRWAY_SERVER: fairway.url } });
    expect(said).toMatchObject({ code: 1, err: expect.stringContaining('in files of the controllers') });
  });

  it('bounds the life of certificates by its own, and says when that ends', async () => {
    const end = new Date(Math.floor((Date.now() + 3_600_000) / 1000) * 1000);
    const brief = await root.sign('Brief', { notAfter: end });
    const fairway = await start(write(brief, root));
    const member = await joinAs(fairway, 'lb-1');
    expect(member.notAfter).toBe(end.toISOString());
    expect((await shown(fairway, member)).validToDate).toEqual(end);
    expect(await authority(fairway)).toMatchObject({ notAfter: end.toISOString(), expiring: true });
    await until('the event', async () => {
      const { body } = await fairway.call('GET', '/v1/events?reason=AuthorityExpiring');
      return body.items.length === 1;
    });
    expect(fairway.logged()).toContain('authority_expiring');
    const status = await runHere(['status'], { env: { FAIRWAY_SERVER: fairway.url } });
    expect(status.out).toMatch(/^CA: +from outside, in files, good for 59m: replace it$/m);
  });
});

describe('another CA in the files', () => {
  it('below the same root signs at once, and nobody notices', async () => {
    const files = write(one, root);
    const fairway = await start(files);
    const member = await joinAs(fairway, 'lb-1');
    const stream = await serving(fairway, member);
    write(two, root);
    await until('the controller to show it', async () => isBy(two, await shown(fairway, member)));
    const { member: renewed } = await renewAs(fairway, member);
    expect(isBy(two, leafOf(renewed))).toBe(true);
    expect(await rotation(fairway)).toMatchObject({ state: 'Steady' });
    await serving(fairway, renewed);
    // Who has not renewed is as good as before.
    await serving(fairway, member);
    expect(stream.ends).toEqual([]);
  });

  it('is not used before certificate and key fit', async () => {
    const fairway = await start(write(one, root));
    writeFileSync(join(folder, 'ca.pem'), two.cert);
    await until('the word about it', () => fairway.logged().includes('does not belong to the first certificate'));
    expect(isBy(one, leafOf(await joinAs(fairway, 'lb-1')))).toBe(true);
    chmodSync(join(folder, 'ca.key'), 0o644);
    await until('the word about its mode', () => fairway.logged().includes('caKey: others may read the file'));
    write(two, root);
    await until('the other one', async () => isBy(two, leafOf(await joinAs(fairway, 'lb-1'))));
  });

  it('below another root begins a rotation, on one controller after the other', async () => {
    const [a, b] = [await start(write(one, root, 'a')), await start(write(one, root, 'b'))];
    const [first, second] = [await joinAs(a, 'lb-1'), await joinAs(b, 'lb-2')];
    const open = [await serving(a, first), await serving(b, second)];
    write(beyond, otherRoot, 'a');
    await until('the rotation', async () => (await rotation(a)).state === 'Spreading');
    await until('both controllers to know', async () =>
      (await authority(b)).certificates.includes(otherRoot.cert.trim()),
    );
    expect((await rotation(b)).waitingFor).toEqual({ count: 2, nodes: ['lb-1', 'lb-2'] });
    // Nodes know the former root alone: so controllers show what is below it, also the one that has the next CA.
    expect(isBy(one, await shown(a, first))).toBe(true);
    const renewed = (await renewAs(a, first)).member;
    expect(isBy(beyond, leafOf(renewed))).toBe(true);
    // The other one has not been given it, and goes on with what it has.
    const still = (await renewAs(b, second)).member;
    expect(isBy(one, leafOf(still))).toBe(true);
    // Each is good at both.
    await serving(b, renewed);
    await serving(a, still);
    write(beyond, otherRoot, 'b');
    const last = await until('the other one to have it', async () => {
      const { member } = await renewAs(b, still);
      return isBy(beyond, leafOf(member)) ? member : undefined;
    });
    await until('the end of the rotation', async () => (await rotation(a)).state === 'Steady');
    await until('the new root alone', async () => (await authority(b)).certificates.trim() === otherRoot.cert.trim());
    for (const fairway of [a, b]) {
      await until('what controllers show', async () => isBy(beyond, await shown(fairway, last)));
    }
    for (const stream of open) expect(stream.ends).toEqual([]);
    expect((await renewAs(a, first)).status).toBe(401);
  });
});

describe('a start', () => {
  it('with a CA in files goes over from an own root, whose nodes are kept', async () => {
    const before = await start(undefined);
    const member = await joinAs(before, 'lb-1');
    expect(await authority(before)).toMatchObject({ source: 'Own', expiring: false });
    await running.pop()?.close();
    const fairway = await start(write(one, root));
    await serving(fairway, member);
    expect(await rotation(fairway)).toEqual({ state: 'Spreading', waitingFor: { count: 1, nodes: ['lb-1'] } });
    const { member: renewed } = await renewAs(fairway, member);
    expect(isBy(one, leafOf(renewed))).toBe(true);
    await until('the end of the rotation', async () => (await rotation(fairway)).state === 'Steady');
    expect((await store.list('secret/authority/')).entries).toEqual([]);
    await until('the CA', async () => isBy(one, await shown(fairway, renewed)));
  });

  it('goes on where it was, also with another CA below the same root', async () => {
    const member = await joinAs(await start(write(one, root)), 'lb-1');
    await running.pop()?.close();
    const fairway = await start(write(two, root));
    await serving(fairway, member);
    expect(isBy(two, leafOf((await renewAs(fairway, member)).member))).toBe(true);
    await running.pop()?.close();
    await expect(start(undefined)).rejects.toThrow('signed by a CA from outside: name its files (caCert, caKey)');
  });

  const wrongs: readonly [name: string, spoil: () => Promise<void> | void, words: string][] = [
    [
      'a key that others may read',
      () => chmodSync(join(folder, 'ca.key'), 0o640),
      'caKey: others may read the file (its mode is 0640)',
    ],
    ['no key', () => rmSync(join(folder, 'ca.key')), 'caKey: the file cannot be read (ENOENT)'],
    ['no certificate', () => rmSync(join(folder, 'ca.pem')), 'caCert: the file cannot be read (ENOENT)'],
    [
      'a CA that has expired',
      async () => void write(await root.sign('Old', { notAfter: new Date(Date.now() - day / 24) }), root),
      'caCert: certificate 1 expired at',
    ],
  ];
  it.each(wrongs)('is refused with %s', async (_name, spoil, words) => {
    const files = write(one, root);
    await spoil();
    await expect(start(files)).rejects.toThrow(words);
  });
});
