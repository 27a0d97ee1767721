// Before anything of @peculiar/x509, which needs it.
import 'reflect-metadata';
import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import { type JsonGeneralName, SubjectAlternativeNameExtension, X509CertificateGenerator } from '@peculiar/x509';
import { beforeAll, describe, expect, it } from 'vitest';
import { webKeysOf } from '../../../src/lib/certificate-request.ts';
import { createKey, createRoot, issueToNode, type Root } from '../../../src/pki/certificates.ts';
import { createIdentify, identityOf } from '../../../src/pki/index.ts';

const now = Date.parse('2026-01-01T12:00:00Z');
const hour = 3_600_000;
const trustDomain = 'fairway-1';
const uid = '0f8fad5b-d9cb-469f-a165-70867728950e';
const uri = (id: string): JsonGeneralName => ({ type: 'url', value: `spiffe://d/fleet/edge/node/${id}` });
const dns = (value: string): JsonGeneralName => ({ type: 'dns', value });

async function withNames(...names: JsonGeneralName[]): Promise<X509Certificate> {
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=x',
    keys: await webKeysOf(createKey()),
    signingAlgorithm: { name: 'ECDSA', hash: 'SHA-256' },
    extensions: names.length === 0 ? [] : [new SubjectAlternativeNameExtension(names)],
  });
  return new X509Certificate(certificate.toString('pem'));
}

describe('who a certificate is for', () => {
  const good: readonly [name: string, names: JsonGeneralName[], want: object][] = [
    ['a uid and a name', [uri(uid), dns('edge-1')], { node: 'edge-1', fleet: 'edge', uid }],
    ['a name alone', [uri('edge-1')], { node: 'edge-1', fleet: 'edge', uid: undefined }],
    [
      'a name, with hosts of its own',
      [dns('a.example'), uri('edge-1')],
      { node: 'edge-1', fleet: 'edge', uid: undefined },
    ],
  ];
  it.each(good)('is read of %s', async (_name, names, want) => {
    expect(identityOf(await withNames(...names))).toEqual({ ok: true, value: { ...want, trustDomain: 'd' } });
  });

  const bad: readonly [name: string, names: JsonGeneralName[]][] = [
    ['nothing', []],
    ['a host', [dns('edge-1')]],
    ['a controller', [{ type: 'url', value: 'spiffe://d/controller' }, dns('edge-1')]],
    ['two nodes', [uri('edge-1'), uri('edge-2')]],
    ['a uid without a name', [uri(uid)]],
    ['a uid with two names', [uri(uid), dns('edge-1'), dns('edge-2')]],
    ['a uid with a name that no Node has', [uri(uid), dns('edge-1.example')]],
    // Printed beside others it would look like three names.
    ['one name that looks like several', [dns('a, URI:spiffe://d/fleet/edge/node/edge-1, DNS:b')]],
  ];
  it.each(bad)('is not read of %s', async (_name, names) => {
    expect(identityOf(await withNames(...names))).toMatchObject({ ok: false });
  });
});

describe('who is let in', () => {
  let root: Root;
  let certificate: X509Certificate;
  beforeAll(async () => {
    root = await createRoot(trustDomain, now);
    const key = createPublicKey(createPrivateKey(createKey()));
    const issued = await issueToNode(
      root,
      key,
      { trustDomain, fleet: 'edge', node: 'edge-1', uid },
      { now, lifeMs: hour },
    );
    certificate = new X509Certificate(issued.certificate);
  });
  const identify = (options: Partial<Parameters<typeof createIdentify>[0]> = {}) =>
    createIdentify({
      uidOf: () => uid,
      newest: () => undefined,
      trustDomain: () => trustDomain,
      now: () => now,
      ...options,
    });

  it('is a node that is there', () => {
    expect(identify()(certificate)).toEqual({ ok: true, value: { node: 'edge-1', fleet: 'edge', uid, trustDomain } });
  });

  it.each([
    ['deleted', { uidOf: () => undefined }, 'denied'],
    ['another one of the same name', { uidOf: () => '00000000-0000-4000-8000-000000000000' }, 'denied'],
    ['in another fleet by now', { newest: () => ({ fleet: 'core', notAfter: now + hour }) }, 'denied'],
    ['of another installation', { trustDomain: () => 'fairway-2' }, 'unauthenticated'],
    ['expired', { now: () => now + hour }, 'unauthenticated'],
    [
      'expired, like its newest',
      { now: () => now + hour, newest: () => ({ fleet: 'edge', notAfter: now + hour }) },
      'unauthenticated',
    ],
  ])('is not one that is %s', (_name, options, reason) => {
    expect(identify(options)(certificate)).toMatchObject({ ok: false, error: { reason } });
  });

  it('is one whose certificate has expired while it has a newer one', () => {
    expect(
      identify({ now: () => now + hour, newest: () => ({ fleet: 'edge', notAfter: now + 2 * hour }) })(certificate),
    ).toMatchObject({
      ok: true,
    });
  });

  it('is decided anew each time', () => {
    let there = true;
    const decide = identify({ uidOf: () => (there ? uid : undefined) });
    expect(decide(certificate).ok).toBe(true);
    there = false;
    expect(decide(certificate).ok).toBe(false);
  });

  it('is, without an authority of our own, whoever has a name', async () => {
    const { trustDomain: _none, ...options } = {
      uidOf: () => undefined,
      newest: () => undefined,
      now: () => Date.now() - hour,
      trustDomain,
    };
    expect(createIdentify(options)(await withNames(uri('edge-1')))).toMatchObject({
      ok: true,
      value: { node: 'edge-1' },
    });
    expect(createIdentify(options)(await withNames(uri(uid), dns('edge-1')))).toMatchObject({
      error: { reason: 'denied' },
    });
  });
});
