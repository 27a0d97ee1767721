import { createPrivateKey, createPublicKey } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttps } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type EnrolOptions, enrol, renewIdentity } from '../../src/cli/membership/enrol.ts';
import { loadIdentity } from '../../src/cli/membership/identity.ts';
import { isLoopbackServer, MembershipRefused, UntrustedServer } from '../../src/cli/membership/registrar.ts';
import { createJoinToken, formatJoinToken } from '../../src/lib/join-token.ts';
import { pinOf } from '../../src/pki/authority.ts';
import { createKey, createRoot, issueToController, issueToNode, type Root } from '../../src/pki/certificates.ts';
import { readRequest } from '../../src/pki/request.ts';

// What a node does to become a member, and whom it believes: against servers that are made by hand.

const trustDomain = 'fairway-1';
const uid = '0f8fad5b-d9cb-469f-a165-70867728950e';
const hour = 3_600_000;
let root: Root;
let folder: string;
const closers: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fairway-join-'));
  root = await createRoot(trustDomain, Date.now());
});
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
  rmSync(folder, { recursive: true, force: true });
});

interface Served {
  readonly server: string;
  /** `METHOD path body` of each request. */
  readonly asked: string[];
}

/** Answers as a controller does, with what `signs` signs, and shows the given certificate. */
async function serve(options: {
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly signs?: Root;
  readonly ca?: string;
  readonly refuse?: { readonly status: number; readonly times: number };
  readonly otherKey?: boolean;
}): Promise<Served> {
  const { tls, signs = root, ca = signs.certificate, refuse, otherKey = false } = options;
  const asked: string[] = [];
  let refused = 0;
  const answer = (response: ServerResponse, status: number, body: object): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let body = '';
    for await (const chunk of request) body += chunk;
    asked.push(`${request.method} ${request.url} ${body}`);
    if (request.url === '/v1/ca') return answer(response, 200, { trustDomain, certificates: ca });
    if (refuse !== undefined && refused < refuse.times) {
      refused += 1;
      return answer(response, refuse.status, { title: 'no', detail: 'it is not so', status: refuse.status });
    }
    const key = otherKey
      ? { ok: true as const, value: publicKeyOf(createKey()) }
      : await readRequest(JSON.parse(body).request);
    if (!key.ok) return answer(response, 422, { title: key.error });
    const subject = { trustDomain, fleet: 'edge', node: 'edge-1', uid };
    const { certificate, notAfter } = await issueToNode(signs, key.value, subject, { now: Date.now(), lifeMs: hour });
    const times = { issuedAt: new Date().toISOString(), notAfter: new Date(notAfter).toISOString() };
    answer(response, 200, { ...subject, certificate, ca, ...times });
  };
  const listener = (request: IncomingMessage, response: ServerResponse): void => void take(request, response);
  const http = tls === undefined ? createHttp(listener) : createHttps(tls, listener);
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  closers.push(() => new Promise((resolve) => http.close(resolve)));
  const { port } = http.address() as AddressInfo;
  return { server: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`, asked };
}

const publicKeyOf = (key: string) => createPublicKey(createPrivateKey(key));

async function controllerTls(of: Root): Promise<{ cert: string; key: string }> {
  const key = createKey();
  const validity = { now: Date.now(), lifeMs: hour };
  const { certificate } = await issueToController(of, publicKeyOf(key), { trustDomain, hosts: [] }, validity);
  return { cert: certificate, key };
}

const token = (of = root): string => formatJoinToken(createJoinToken(pinOf(of.certificate)));
const options = (server: string, more: Partial<EnrolOptions> = {}): EnrolOptions => ({
  folder,
  server: { url: server },
  token: token(),
  node: undefined,
  fleet: undefined,
  insecure: false,
  now: Date.now(),
  ...more,
});
const posts = ({ asked }: Served) => asked.filter((line) => line.startsWith('POST'));

describe('a node that joins', () => {
  it('believes a controller of the installation, whatever its address', async () => {
    const served = await serve({ tls: await controllerTls(root) });
    const identity = await enrol(options(served.server));
    expect(identity).toMatchObject({ node: 'edge-1', fleet: 'edge', uid });
    expect(await loadIdentity(folder)).toEqual(identity);
    // The key stays here.
    const body = posts(served).join();
    expect(body).toContain('CERTIFICATE REQUEST');
    expect(body).not.toContain('PRIVATE KEY');
  });

  it('believes whom this machine, or its context, trusts, for the host of the address', async () => {
    const own = await createRoot('corp.example', Date.now());
    const key = createKey();
    const hosts = [{ type: 'ip', value: '127.0.0.1' }] as const;
    const validity = { now: Date.now(), lifeMs: hour };
    const { certificate } = await issueToController(own, publicKeyOf(key), { trustDomain: 'corp', hosts }, validity);
    const served = await serve({ tls: { cert: certificate, key } });
    await expect(enrol(options(served.server))).rejects.toBeInstanceOf(UntrustedServer);
    expect(posts(served)).toEqual([]);
    const server = { url: served.server, ca: own.certificate };
    expect(await enrol(options(served.server, { server }))).toMatchObject({ node: 'edge-1' });
  });

  it('tells nothing to one of another installation', async () => {
    const other = await createRoot(trustDomain, Date.now());
    const served = await serve({ tls: await controllerTls(other), signs: other });
    await expect(enrol(options(served.server))).rejects.toThrow(/another authority than the token is for/);
    expect(posts(served)).toEqual([]);
  });

  it('tells nothing to who repeats what everybody may know', async () => {
    const other = await createRoot(trustDomain, Date.now());
    const served = await serve({ tls: await controllerTls(other), ca: root.certificate });
    await expect(enrol(options(served.server))).rejects.toBeInstanceOf(UntrustedServer);
    expect(posts(served)).toEqual([]);
  });

  it('tells nothing to who adds an authority of their own to it', async () => {
    const other = await createRoot(trustDomain, Date.now());
    const served = await serve({ tls: await controllerTls(other), ca: root.certificate + other.certificate });
    await expect(enrol(options(served.server))).rejects.toBeInstanceOf(UntrustedServer);
    expect(posts(served)).toEqual([]);
  });

  it('tells nothing to another node', async () => {
    const key = createKey();
    const subject = { trustDomain, fleet: 'edge', node: 'edge-2', uid };
    const { certificate } = await issueToNode(root, publicKeyOf(key), subject, { now: Date.now(), lifeMs: hour });
    const served = await serve({ tls: { cert: certificate, key } });
    await expect(enrol(options(served.server))).rejects.toBeInstanceOf(UntrustedServer);
    expect(posts(served)).toEqual([]);
  });

  it('does not take a certificate for another key', async () => {
    const served = await serve({ otherKey: true });
    await expect(enrol(options(served.server))).rejects.toThrow(/not for the key of this node/);
    expect(await loadIdentity(folder)).toBeUndefined();
  });

  it('sends no token in plain text beyond this machine', async () => {
    await expect(enrol(options('http://192.0.2.1:7600'))).rejects.toThrow(/can be read on the way/);
    expect(
      isLoopbackServer('http://[::1]:7600') &&
        isLoopbackServer('http://127.1.2.3') &&
        isLoopbackServer('http://localhost'),
    ).toBe(true);
    expect(isLoopbackServer('http://127.0.0.1.example') || isLoopbackServer('http://10.0.0.1')).toBe(false);
  });

  it('asks again with the same key when it got no answer', async () => {
    const served = await serve({ refuse: { status: 503, times: 2 } });
    await enrol(options(served.server));
    expect(posts(served)).toHaveLength(3);
    expect(new Set(posts(served)).size).toBe(1);
  });

  it('does not ask again when it is refused', async () => {
    const served = await serve({ refuse: { status: 401, times: 9 } });
    await expect(enrol(options(served.server))).rejects.toBeInstanceOf(MembershipRefused);
    expect(posts(served)).toHaveLength(1);
  });

  it.each(['', 'x', 'fwj1.a.b.c'])('knows what is no token: "%s"', async (text) => {
    await expect(enrol(options('http://127.0.0.1:1', { token: text }))).rejects.toThrow(/token is not whole/);
  });
});

describe('a node that has joined', () => {
  it('needs no token, and no server, to start again', async () => {
    const { server } = await serve({});
    const identity = await enrol(options(server));
    expect(await enrol(options('http://127.0.0.1:1', { token: undefined }))).toEqual(identity);
    // What Envoy reads is made anew.
    rmSync(join(folder, 'certificate.sds.json'));
    await enrol(options('http://127.0.0.1:1', { token: undefined }));
    const [secret] = JSON.parse(readFileSync(join(folder, 'certificate.sds.json'), 'utf8')).resources;
    expect(secret.tls_certificate.private_key.inline_string).toBe(identity?.key);
  });

  it('is who it is', async () => {
    const { server } = await serve({});
    await enrol(options(server));
    await expect(enrol(options(server, { node: 'edge-2' }))).rejects.toThrow(/identity of the node edge-1/);
    await expect(enrol(options(server, { fleet: 'core' }))).rejects.toThrow(/of the fleet edge/);
  });

  it('joins again when its certificate has expired, if it has a token', async () => {
    const { server } = await serve({});
    const first = await enrol(options(server));
    const later = { now: Date.now() + 2 * hour };
    await expect(enrol(options(server, { ...later, token: undefined }))).rejects.toThrow(/has expired/);
    const second = await enrol(options(server, later));
    expect(second?.key).not.toBe(first?.key);
  });

  it('says when its folder was tampered with', async () => {
    writeFileSync(join(folder, 'identity.json'), '{}');
    await expect(enrol(options('http://127.0.0.1:1'))).rejects.toThrow(/not what Fairway has written/);
  });

  it('renews with a new key, by the roots that it has', async () => {
    const served = await serve({ tls: await controllerTls(root) });
    const present = await enrol(options(served.server));
    if (present === undefined) throw new Error('no identity');
    const next = await renewIdentity(folder, { url: served.server }, present);
    expect(next.key).not.toBe(present.key);
    expect(await loadIdentity(folder)).toEqual(next);
    const other = await createRoot(trustDomain, Date.now());
    const false_ = await serve({ tls: await controllerTls(other) });
    await expect(renewIdentity(folder, { url: false_.server }, next)).rejects.toBeInstanceOf(UntrustedServer);
    expect(false_.asked).toEqual([]);
    expect(await loadIdentity(folder)).toEqual(next);
  });

  it('is no member without a token and an identity', async () => {
    expect(await enrol(options('http://127.0.0.1:1', { token: undefined }))).toBeUndefined();
  });
});
