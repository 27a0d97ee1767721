/** The store on an etcd that wants certificates, and a user with a password. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Etcd3 } from 'etcd3';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { serverDefaults } from '../../src/config/index.ts';
import { openStore } from '../../src/server/open-store.ts';
import { EtcdEndpoint } from '../../src/store/etcd-connection.ts';
import { openEtcdStore, type Store } from '../../src/store/index.ts';
import { createLogger } from '../../src/telemetry/log.ts';
import { put } from '../contract/store-fixture.ts';
import { startEtcd } from '../support/etcd.ts';

const exec = promisify(execFile);

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fairway-etcd-'));
});

afterAll(() => rm(folder, { recursive: true }));

/** An authority with a certificate for etcd and one for us, as PEM files in the folder. */
async function makeCertificates(): Promise<void> {
  const openssl = (...args: string[]) => exec('openssl', args, { cwd: folder });
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  await openssl('req', '-x509', ...key, '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=authority', '-days', '2');
  for (const name of ['etcd', 'fairway']) {
    await openssl('req', ...key, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`);
    await writeFile(join(folder, `${name}.ext`), 'subjectAltName=IP:127.0.0.1,DNS:localhost\n');
    const signing = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', `${name}.ext`];
    await openssl('x509', '-req', '-in', `${name}.csr`, '-out', `${name}.pem`, ...signing);
  }
}

test('certificates', { timeout: 60_000 }, async (context) => {
  await makeCertificates();
  const path = (name: string) => join(folder, name);
  const [ca, cert, key] = await Promise.all(
    ['ca.pem', 'fairway.pem', 'fairway.key'].map((name) => readFile(path(name))),
  );
  const credentials = { rootCertificate: ca as Buffer, certChain: cert as Buffer, privateKey: key as Buffer };
  const etcd = await startEtcd(
    path('secured'),
    ['--cert-file', path('etcd.pem'), '--key-file', path('etcd.key'), '--trusted-ca-file', path('ca.pem')].concat(
      '--client-cert-auth',
    ),
    credentials,
  );
  if ('missing' in etcd) return context.skip(etcd.missing);
  onTestFinished(() => etcd.stop());
  const config = {
    ...serverDefaults,
    store: 'etcd' as const,
    etcdEndpoints: etcd.url,
    etcdCa: path('ca.pem'),
    etcdCert: path('fairway.pem'),
    etcdKey: path('fairway.key'),
  };
  const log = createLogger({ level: 'silent' });
  await readAndWrite(await openStore({ config, log }));
  for (const refused of [
    { ...config, etcdCert: '', etcdKey: '' },
    { ...config, etcdCa: '' },
  ]) {
    await expect(openStore({ config: refused, log })).rejects.toMatchObject({ code: 'StoreUnavailable' });
  }
});

test('a user with a password', { timeout: 60_000 }, async (context) => {
  const etcd = await startEtcd(join(folder, 'users'), ['--auth-token-ttl', '1']);
  if ('missing' in etcd) return context.skip(etcd.missing);
  onTestFinished(() => etcd.stop());
  const { client } = etcd;
  const root = { username: 'root', password: 'word' };
  await client.user('root').create('word');
  await client.role('root').create();
  await client.user('root').addRole('root');
  const auth = { username: 'fairway', password: 'secret' };
  await client.user('fairway').create('secret');
  const role = await client.role('fairway').create();
  await role.grant({ permission: 'Readwrite', range: client.range({ prefix: '/fairway/' }) });
  await client.user('fairway').addRole('fairway');
  await client.auth.authEnable();
  const admin = new Etcd3({ hosts: etcd.url, auth: root });
  onTestFinished(() => admin.close());

  const open = (options: object) => openEtcdStore({ endpoints: [etcd.url], auth, ...options });
  const store = await open({});
  await readAndWrite(store);
  await expect(open({ auth: { ...auth, password: 'wrong' } })).rejects.toThrow(
    'does not know the user or the password',
  );
  await expect(open({ prefix: '/elsewhere' })).rejects.toThrow('may not do this');
  await expect(openEtcdStore({ endpoints: [etcd.url] })).rejects.toMatchObject({ code: 'StoreUnavailable' });
  // What a member says when nobody can get a token, since there is no leader.
  const member = new EtcdEndpoint({ hosts: etcd.url, auth: { ...auth, password: 'wrong' } });
  onTestFinished(() => member.close());
  const answer = await member.members(5_000);
  expect(answer?.voters).toEqual([answer?.member]);
});

/** Reads, writes, watches, and is leader: each of them over its own kind of call. */
async function readAndWrite(store: Store): Promise<void> {
  onTestFinished(() => store.close());
  const outcome = await store.commit(put('a', 'secured'));
  expect(outcome.committed).toBe(true);
  expect(await store.get('a')).toMatchObject({ value: 'secured' });
  const leadership = await store.election?.campaign('one', new AbortController().signal);
  const controller = new AbortController();
  for await (const { puts } of store.watch(0, controller.signal)) {
    expect(puts).toMatchObject([{ key: 'a', value: 'secured' }]);
    break;
  }
  controller.abort();
  await leadership?.resign();
}
