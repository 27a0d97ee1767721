import { connect } from 'node:tls';
import { ChannelCredentials, Client, status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createKeyAndRequest, proveRenewal } from '../../src/lib/certificate-request.ts';
import { createRoot, issueToNode } from '../../src/pki/certificates.ts';
import { readRequest } from '../../src/pki/request.ts';
import { createMemoryStore, type Store } from '../../src/store/index.ts';
import { typeUrls } from '../../src/xds/index.ts';
import { startFairway, type TestFairway } from '../support/fairway.ts';
import {
  connectAs,
  credentialsOf,
  joinAs,
  renewAs,
  type TestMember,
  type TestStream,
  tokenFor,
} from '../support/member.ts';
import { unclosing } from '../support/unclosing.ts';
import { until } from '../support/until.ts';

// Membership of nodes by tokens and certificates, on a whole control plane.

let fairway: TestFairway;
let store: Store;
const streams: TestStream[] = [];

beforeAll(async () => {
  store = createMemoryStore();
  fairway = await startFairway({ store, config: { xdsTls: 'own' } });
  await fairway.put(
    { kind: 'Fleet', metadata: { name: 'edge' }, spec: { drainTimeout: '7s' } },
    { kind: 'Fleet', metadata: { name: 'core' }, spec: {} },
  );
});
afterAll(async () => {
  for (const stream of streams) stream.close();
  await fairway?.close();
});

async function open(
  ...args: Parameters<typeof connectAs> extends [unknown, ...infer R] ? R : never
): Promise<TestStream> {
  const stream = await connectAs(fairway, ...args);
  streams.push(stream);
  return stream;
}

const isConnected = async (node: string) => (await fairway.call('GET', `/v1/proxies/${node}`)).status === 200;
const connected = (node: string) => until(`${node} to be connected`, () => isConnected(node));
const ended = (stream: TestStream) => until('the end of a stream', () => stream.ends.at(-1));
const otherKey = async () => (await createKeyAndRequest('x')).key;

/** A certificate that says what ours say, of an authority that is not ours. */
async function forged(member: TestMember): Promise<TestMember> {
  const root = await createRoot('fairway-00000000', Date.now());
  const { key, request } = await createKeyAndRequest(member.node);
  const publicKey = await readRequest(request);
  if (!publicKey.ok) throw new Error(publicKey.error);
  const subject = { trustDomain: 'fairway-00000000', fleet: member.fleet, node: member.node, uid: member.uid };
  const { certificate } = await issueToNode(root, publicKey.value, subject, { now: Date.now(), lifeMs: 3_600_000 });
  return { ...member, certificate, key };
}

describe('joining', () => {
  it('makes the Node and gives it a certificate, with which it is served', async () => {
    const member = await joinAs(fairway, 'edge-1');
    expect((await fairway.get('Node', 'edge-1')).metadata.uid).toBe(member.uid);
    await open(member);
    await connected('edge-1');
    const { status, body } = await renewAs(fairway, member);
    expect(status).toBe(200);
    expect(body.uid).toBe(member.uid);
    expect(body.drainTimeout).toBe('7s');
    const { certificate } = (await fairway.get('Node', 'edge-1')).status;
    expect(certificate).toMatchObject({ issuedAt: body.issuedAt, notAfter: body.notAfter });
  });

  it('keeps a Node that is there', async () => {
    const { uid } = await joinAs(fairway, 'known-1');
    await fairway.put({ kind: 'Node', metadata: { name: 'known-1', labels: { rack: 'a' } }, spec: {} });
    expect((await joinAs(fairway, 'known-1')).uid).toBe(uid);
    expect((await fairway.get('Node', 'known-1')).metadata.labels).toEqual({ rack: 'a' });
  });

  it('takes a token once, whoever comes first', async () => {
    const token = await tokenFor(fairway, 'once-1');
    const answers = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const { request } = await createKeyAndRequest('once-1');
        return fairway.call('POST', '/v1/join', { token, request });
      }),
    );
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, 401, 401, 401, 401]);
  });

  it('answers again who asks again with the same key, while its Node is there', async () => {
    const token = await tokenFor(fairway, 'again-1');
    const { request } = await createKeyAndRequest('again-1');
    const ask = () => fairway.call('POST', '/v1/join', { token, request });
    const [first, second] = [await ask(), await ask()];
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(second.body.uid).toBe(first.body.uid);
    expect(
      (await fairway.call('GET', '/v1/join-tokens')).body.items.map(({ node }: { node: string }) => node),
    ).not.toContain('again-1');
    await fairway.call('DELETE', '/v1/nodes/again-1');
    expect((await ask()).status).toBe(401);
    expect((await fairway.call('GET', '/v1/nodes/again-1')).status).toBe(404);
  });

  it('takes no token after its time, or one that was taken back', async () => {
    const { request } = await createKeyAndRequest('late-1');
    const late = await tokenFor(fairway, 'late-1', 'edge', '1s');
    const back = await tokenFor(fairway, 'late-1');
    const [listed] = (await fairway.call('GET', '/v1/join-tokens')).body.items.filter(({ id }: { id: string }) =>
      back.includes(id),
    );
    expect(listed).toEqual({ id: listed.id, node: 'late-1', fleet: 'edge', expires: listed.expires });
    expect((await fairway.call('DELETE', `/v1/join-tokens/${listed.id}`)).status).toBe(200);
    expect((await fairway.call('DELETE', `/v1/join-tokens/${listed.id}`)).status).toBe(404);
    await until(
      'the token to expire',
      async () => (await fairway.call('GET', '/v1/join-tokens')).body.items.length === 0,
    );
    for (const token of [late, back]) {
      expect(await fairway.call('POST', '/v1/join', { token, request })).toMatchObject({
        status: 401,
        body: { code: 'Unauthenticated' },
      });
    }
    expect((await fairway.call('GET', '/v1/nodes/late-1')).status).toBe(404);
  });

  const wrongs: readonly [name: string, ask: (token: string) => Promise<object>, status: number, code: string][] = [
    ['another node', async (token) => ({ token, request: await good(), node: 'edge-2' }), 403, 'Forbidden'],
    ['another fleet', async (token) => ({ token, request: await good(), fleet: 'core' }), 403, 'Forbidden'],
    [
      'a made up secret',
      async (token) => ({ token: token.replace(/[^.]{43}/, 'a'.repeat(43)), request: await good() }),
      401,
      'Unauthenticated',
    ],
    ['no token at all', async () => ({ token: 'x', request: await good() }), 401, 'Unauthenticated'],
    ['a request that is none', async (token) => ({ token, request: 'hello' }), 422, 'InvalidObject'],
    [
      'a request signed by another key',
      async (token) => ({ token, request: await forgedRequest() }),
      422,
      'InvalidObject',
    ],
    ['a field too many', async (token) => ({ token, request: await good(), uid: 'x' }), 422, 'InvalidObject'],
  ];
  const good = async () => (await createKeyAndRequest('edge-9')).request;

  it.each(wrongs)('refuses %s, and the token stays good', async (_name, ask, status, code) => {
    const token = await tokenFor(fairway, 'edge-9');
    expect(await fairway.call('POST', '/v1/join', await ask(token))).toMatchObject({ status, body: { code } });
    const { request } = await createKeyAndRequest('edge-9');
    expect((await fairway.call('POST', '/v1/join', { token, request })).status).toBe(200);
  });

  /** One signature bit is another. */
  async function forgedRequest(): Promise<string> {
    const der = Buffer.from((await good()).replace(/-----[^-]+-----|\s/g, ''), 'base64');
    der[der.byteLength - 1] = (der.at(-1) ?? 0) ^ 1;
    const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
    return ['-----BEGIN CERTIFICATE REQUEST-----', ...lines, '-----END CERTIFICATE REQUEST-----', ''].join('\n');
  }

  it('leaves nothing in the store by which one could join', async () => {
    const token = await tokenFor(fairway, 'edge-8');
    const [, , secret = ''] = token.split('.');
    const { entries } = await store.list('');
    expect(entries.filter(({ value }) => value.includes(secret)).map(({ key }) => key)).toEqual([]);
    // The key of the authority is there, and sealed.
    expect(entries.filter(({ key }) => key.startsWith('secret/authority/'))).toHaveLength(1);
    expect(entries.filter(({ value }) => value.includes('PRIVATE KEY')).map(({ key }) => key)).toEqual([]);
  });
});

describe('the xDS port', () => {
  let member: TestMember;
  beforeAll(async () => {
    member = await joinAs(fairway, 'port-1');
  });

  it('takes nobody without a certificate, in plain text, or with one of another authority', async () => {
    const { ca } = member;
    const wrong = [
      ChannelCredentials.createSsl(Buffer.from(ca)),
      ChannelCredentials.createInsecure(),
      credentialsOf({ ...(await forged(member)), ca }),
    ];
    for (const credentials of wrong) {
      const stream = await open(member, { credentials });
      expect((await ended(stream)).code).toBe(status.UNAVAILABLE);
      expect(stream.client.resources(typeUrls.cluster).size).toBe(0);
    }
    expect(await isConnected('port-1')).toBe(false);
  });

  it.each([
    ['TLSv1.1', { minVersion: 'TLSv1', maxVersion: 'TLSv1.1' }],
    ['a cipher without forward secrecy', { maxVersion: 'TLSv1.2', ciphers: 'AES256-GCM-SHA384' }],
    ['a cipher in CBC mode', { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-SHA' }],
  ] as const)('does not speak %s', async (_name, options) => {
    const { ca, key, certificate: cert } = member;
    const failed = new Promise<Error | undefined>((resolve) => {
      const socket = connect({
        port: fairway.xdsPort,
        host: '127.0.0.1',
        ca,
        key,
        cert,
        ALPNProtocols: ['h2'],
        ...options,
      });
      socket.once('secureConnect', () => {
        socket.destroy();
        resolve(undefined);
      });
      socket.once('error', resolve);
    });
    expect(await failed).toBeInstanceOf(Error);
  });

  it('rule 41: ends the stream of whoever calls itself another node, or claims another fleet', async () => {
    for (const claim of [{ id: 'edge-1' }, { cluster: 'core' }, { cluster: '' }]) {
      const stream = await open(member, claim);
      expect((await ended(stream)).code).toBe(status.PERMISSION_DENIED);
      stream.close();
    }
    expect(await isConnected('port-1')).toBe(false);
  });

  it('rule 41: gives nobody a secret of another fleet, and tells of it', async () => {
    const { createAuthority } = await import('../../src/demo/certificate.ts');
    const { chain, key } = await (await createAuthority()).issue('core.example', '0a');
    await fairway.put(
      { kind: 'Certificate', metadata: { name: 'core-tls' }, spec: { chain, key } },
      { kind: 'BackendPool', metadata: { name: 'web' }, spec: { members: [{ address: '127.0.0.1', port: 1 }] } },
      {
        kind: 'VirtualService',
        metadata: { name: 'core' },
        spec: {
          fleet: 'core',
          listeners: [
            {
              name: 'web',
              port: 443,
              protocol: 'HTTPS',
              certificates: ['core-tls'],
              defaultAction: { forward: [{ pool: 'web' }] },
            },
          ],
        },
      },
    );
    const name = await secretName();
    const stream = await open(member, { subscribe: [[typeUrls.secret, [name]]] });
    const theirs = await open(await joinAs(fairway, 'core-1', 'core'), { subscribe: [[typeUrls.secret, [name]]] });
    await until('the secret of the fleet', () => theirs.client.resources(typeUrls.secret).has(name));
    const told = () =>
      fairway
        .logged()
        .split('\n')
        .filter((line) => line.includes('"secret_refused"'));
    await until('the refusal to be told', () => told().length > 0);
    await until('the event', async () => {
      const { body } = await fairway.call('GET', '/v1/events?reason=SecretRefused&name=port-1');
      return body.items.length === 1;
    });
    const refusals = async () => {
      const { body } = await fairway.call('GET', '/v1/audit?who=port-1&outcome=refused');
      return body.items.filter(({ detail }: { detail: string }) => detail.includes(name));
    };
    await until('the record for the audit', async () => (await refusals()).length > 0);
    expect(await refusals()).toMatchObject([{ code: 'Forbidden', from: '127.0.0.1', request: 'xDS stream' }]);
    expect(told().map((line) => JSON.parse(line))).toMatchObject([{ nodeId: 'port-1', fleet: 'edge', name }]);
    expect(stream.client.resources(typeUrls.secret).size).toBe(0);
  });

  /** As the fleet that may have it is told. */
  async function secretName(): Promise<string> {
    const stream = await open(await joinAs(fairway, 'core-2', 'core'), { subscribe: [[typeUrls.listener, ['*']]] });
    const listeners = await until('the listener', () => {
      const found = [...stream.client.resources(typeUrls.listener).values()];
      return found.length > 0 ? found : undefined;
    });
    stream.close();
    const text = Buffer.from(listeners[0]?.value ?? []).toString('latin1');
    return /default\/core-tls[\w/:-]*/.exec(text)?.[0] ?? '';
  }
});

describe('renewing', () => {
  let member: TestMember;
  beforeAll(async () => {
    member = await joinAs(fairway, 'renew-1');
  });

  it('needs the key of the present certificate', async () => {
    const { request } = await createKeyAndRequest('renew-1');
    expect(await renewAs(fairway, member, { proof: proveRenewal(await otherKey(), request) })).toMatchObject({
      status: 401,
    });
    // A proof is for one request.
    expect(await renewAs(fairway, member, { proof: proveRenewal(member.key, request) })).toMatchObject({ status: 401 });
    expect(await renewAs(fairway, member, { proof: 'x' })).toMatchObject({ status: 401 });
  });

  it('is not for certificates of others', async () => {
    expect(await renewAs(fairway, await forged(member))).toMatchObject({ status: 401 });
    expect(await renewAs(fairway, member, { certificate: member.ca })).toMatchObject({ status: 401 });
    expect(await renewAs(fairway, member, { certificate: 'x' })).toMatchObject({ status: 401 });
  });

  it('breaks no stream, and the new certificate is as good', async () => {
    const stream = await open(member);
    await connected('renew-1');
    const { member: renewed } = await renewAs(fairway, member);
    expect(renewed.certificate).not.toBe(member.certificate);
    const second = await open(renewed);
    await until(
      'both streams',
      async () => second.client.resources(typeUrls.cluster) !== undefined && isConnected('renew-1'),
    );
    expect(stream.ends).toEqual([]);
    expect(second.ends).toEqual([]);
  });
});

describe('a node that is deleted', () => {
  it('is shut out at once, on every controller, also when one of its name is made anew', async () => {
    const second = await startFairway({ store: unclosing(store), config: { xdsTls: 'own' } });
    try {
      const member = await joinAs(fairway, 'gone-1');
      const here = await open(member);
      const there = await connectAs(second, member);
      streams.push(there);
      await connected('gone-1');
      await until('the other one', async () => (await second.call('GET', '/v1/proxies/gone-1')).status === 200);
      const at = performance.now();
      expect((await fairway.call('DELETE', '/v1/nodes/gone-1')).status).toBe(200);
      for (const stream of [here, there]) expect((await ended(stream)).code).toBe(status.PERMISSION_DENIED);
      expect(performance.now() - at).toBeLessThan(5_000);
      expect(await renewAs(fairway, member)).toMatchObject({ status: 403, body: { code: 'Forbidden' } });

      const again = await joinAs(fairway, 'gone-1');
      expect(again.uid).not.toBe(member.uid);
      await open(again);
      await connected('gone-1');
      const before = here.ends.length;
      await until('another attempt', () => here.ends.length > before + 1);
      expect(here.ends.every(({ code }) => code === status.PERMISSION_DENIED)).toBe(true);
      expect(await renewAs(fairway, member)).toMatchObject({ status: 403 });
      expect((await renewAs(fairway, again)).status).toBe(200);
    } finally {
      await second.close();
    }
  });

  it('does not come back by itself', async () => {
    const member = await joinAs(fairway, 'gone-2');
    const stream = await open(member);
    await connected('gone-2');
    await fairway.call('DELETE', '/v1/nodes/gone-2');
    await ended(stream);
    await until('a further attempt', () => stream.ends.length > 2);
    expect((await fairway.call('GET', '/v1/nodes/gone-2')).status).toBe(404);
  });
});

describe('a node that joins another fleet', () => {
  it('is in that one alone', async () => {
    const before = await joinAs(fairway, 'moved-1', 'edge');
    const stream = await open(before);
    await connected('moved-1');
    const after = await joinAs(fairway, 'moved-1', 'core');
    expect(after.uid).toBe(before.uid);
    expect((await ended(stream)).code).toBe(status.PERMISSION_DENIED);
    expect(await renewAs(fairway, before)).toMatchObject({ status: 403 });
    expect((await renewAs(fairway, after)).status).toBe(200);
    await open(after);
    await until('the new fleet', async () => (await fairway.call('GET', '/v1/proxies/moved-1')).body.fleet === 'core');
  });
});

describe('the client status', () => {
  const ask = (credentials: ChannelCredentials) =>
    new Promise<Buffer>((resolve, reject) => {
      const client = new Client(`localhost:${fairway.xdsPort}`, credentials);
      const same = (bytes: Buffer) => bytes;
      const method = '/envoy.service.status.v3.ClientStatusDiscoveryService/FetchClientStatus';
      client.makeUnaryRequest(method, same, same, Buffer.alloc(0), (error, answer) => {
        client.close();
        if (error === null) resolve(answer ?? Buffer.alloc(0));
        else reject(error);
      });
    });

  it('tells a node of itself, and nothing to one that is gone', async () => {
    const [one, two] = [await joinAs(fairway, 'csds-1'), await joinAs(fairway, 'csds-2')];
    await open(one);
    await open(two);
    await connected('csds-1');
    await connected('csds-2');
    const told = (await ask(credentialsOf(one))).toString('latin1');
    expect(told).toContain('csds-1');
    expect(told).not.toContain('csds-2');
    await fairway.call('DELETE', '/v1/nodes/csds-1');
    await expect(ask(credentialsOf(one))).rejects.toMatchObject({ code: status.PERMISSION_DENIED });
  });
});

describe('a certificate that expires', () => {
  it('ends the stream of a node that has not renewed it, and of nobody else', async () => {
    const brief = await startFairway({ config: { xdsTls: 'own', certificateLife: '6s' } });
    try {
      const [lazy, busy] = [await joinAs(brief, 'lazy-1'), await joinAs(brief, 'busy-1')];
      const [first, second] = [await connectAs(brief, lazy), await connectAs(brief, busy)];
      streams.push(first, second);
      await until('both', async () => (await brief.call('GET', '/v1/proxies')).body.items.length === 2);
      const over = Date.parse(lazy.notAfter);
      let renewing = true;
      const renewals = (async () => {
        for (let present = busy; renewing; ) ({ member: present } = await renewAs(brief, present));
      })();
      try {
        expect((await ended(first)).code).toBe(status.UNAUTHENTICATED);
        expect(Date.now()).toBeGreaterThanOrEqual(over);
        expect(second.ends).toEqual([]);
      } finally {
        renewing = false;
        await renewals;
      }
      expect(await renewAs(brief, lazy)).toMatchObject({
        status: 401,
        body: { detail: expect.stringContaining('has expired') },
      });
    } finally {
      await brief.close();
    }
  });
});
