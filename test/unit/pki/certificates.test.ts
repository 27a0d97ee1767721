import { createPrivateKey, createPublicKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createKeyAndRequest, isRenewalProof, proveRenewal } from '../../../src/lib/certificate-request.ts';
import { subjectAltNames } from '../../../src/lib/x509.ts';
import { createKey, createRoot, issueToController, issueToNode } from '../../../src/pki/certificates.ts';
import { readRequest } from '../../../src/pki/request.ts';

const now = Date.parse('2026-01-01T12:00:00Z');
const day = 86_400_000;
const trustDomain = 'fairway-1';
const uid = '0f8fad5b-d9cb-469f-a165-70867728950e';
const subject = { trustDomain, fleet: 'edge', node: 'edge-1', uid };
const publicKeyOf = (key: string) => createPublicKey(createPrivateKey(key));

describe('a root', () => {
  it('signs certificates and nothing below them, and has a name of its own', async () => {
    const [one, two] = [await createRoot(trustDomain, now), await createRoot(trustDomain, now)];
    const certificate = new X509Certificate(one.certificate);
    expect(certificate.ca).toBe(true);
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    expect(certificate.checkPrivateKey(createPrivateKey(one.key))).toBe(true);
    expect(certificate.subject).toBe(`O=${trustDomain}\nCN=Fairway CA ${one.id}`);
    expect(new X509Certificate(two.certificate).subject).not.toBe(certificate.subject);
  });
});

describe('a certificate of a node', () => {
  it('is signed by the root and says who it is for', async () => {
    const root = await createRoot(trustDomain, now);
    const key = createKey();
    const issued = await issueToNode(root, publicKeyOf(key), subject, { now, lifeMs: day });
    const certificate = new X509Certificate(issued.certificate);
    const issuer = new X509Certificate(root.certificate);
    expect(certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)).toBe(true);
    expect(certificate.checkPrivateKey(createPrivateKey(key))).toBe(true);
    expect(certificate.ca).toBe(false);
    expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.2']);
    expect(subjectAltNames(certificate.subjectAltName)).toEqual([
      `URI:spiffe://${trustDomain}/fleet/edge/node/${uid}`,
      'DNS:edge-1',
    ]);
    expect(certificate.validToDate.getTime()).toBe(now + day);
    expect(issued.notAfter).toBe(now + day);
    // Clocks differ.
    expect(certificate.validFromDate.getTime()).toBeLessThan(now);
  });

  it('does not outlive its root', async () => {
    const root = await createRoot(trustDomain, now);
    const { notAfter } = await issueToNode(root, publicKeyOf(createKey()), subject, { now, lifeMs: 100 * 365 * day });
    expect(notAfter).toBe(new X509Certificate(root.certificate).validToDate.getTime());
  });

  it.each([
    ['P-384', () => generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey],
    ['RSA', () => generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey],
  ])('may be for a key on %s', async (_name, make) => {
    const key = make();
    const root = await createRoot(trustDomain, now);
    const { certificate } = await issueToNode(root, key, subject, { now, lifeMs: day });
    const read = new X509Certificate(certificate).publicKey;
    expect(read.equals(key)).toBe(true);
  });
});

describe('a certificate of a controller', () => {
  it('names the installation, and the hosts', async () => {
    const root = await createRoot(trustDomain, now);
    const hosts = [
      { type: 'dns', value: 'c1.example' },
      { type: 'ip', value: '192.0.2.1' },
      { type: 'ip', value: '2001:db8::1' },
    ] as const;
    const { certificate } = await issueToController(
      root,
      publicKeyOf(createKey()),
      { trustDomain, hosts },
      { now, lifeMs: day },
    );
    const read = new X509Certificate(certificate);
    expect(subjectAltNames(read.subjectAltName)[0]).toBe(`URI:spiffe://${trustDomain}/controller`);
    expect(read.checkHost('c1.example')).toBe('c1.example');
    expect(read.checkIP('192.0.2.1')).toBe('192.0.2.1');
    expect(read.checkIP('2001:db8::1')).toBeDefined();
    expect(read.keyUsage).toContain('1.3.6.1.5.5.7.3.1');
  });
});

describe('a request', () => {
  it('gives its key', async () => {
    const { key, request } = await createKeyAndRequest('edge-1');
    const read = await readRequest(request);
    expect(read.ok && read.value.equals(publicKeyOf(key))).toBe(true);
  });

  it.each([
    ['nothing', ''],
    ['something else', 'hello'],
    ['a certificate', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'],
    ['too long', 'A'.repeat(20_000)],
  ])('is not %s', async (_name, text) => {
    expect(await readRequest(text)).toMatchObject({ ok: false });
  });

  it('must be signed by the key in it', async () => {
    const { request } = await createKeyAndRequest('edge-1');
    const der = Buffer.from(request.replace(/-----[^-]+-----|\s/g, ''), 'base64');
    const other = (await createKeyAndRequest('edge-1')).request;
    const otherDer = Buffer.from(other.replace(/-----[^-]+-----|\s/g, ''), 'base64');
    // The signature of another request: as long, in the same place.
    const length = Math.min(64, der.byteLength, otherDer.byteLength);
    otherDer.copy(der, der.byteLength - length, otherDer.byteLength - length);
    const text = `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`;
    expect(await readRequest(text)).toMatchObject({ ok: false });
  });
});

describe('the proof of a renewal', () => {
  it('is good for one key and one request', async () => {
    const key = createKey();
    const proof = proveRenewal(key, 'request');
    expect(isRenewalProof(publicKeyOf(key), 'request', proof)).toBe(true);
    expect(isRenewalProof(publicKeyOf(key), 'another', proof)).toBe(false);
    expect(isRenewalProof(publicKeyOf(createKey()), 'request', proof)).toBe(false);
    expect(isRenewalProof(publicKeyOf(key), 'request', '')).toBe(false);
  });
});
