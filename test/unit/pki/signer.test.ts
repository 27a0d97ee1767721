// Metadata of decorators, which @peculiar/x509 needs to find in place.
import 'reflect-metadata';
import { X509Certificate } from 'node:crypto';
import { ExtendedKeyUsage, KeyUsageFlags } from '@peculiar/x509';
import { beforeAll, describe, expect, it } from 'vitest';
import { createKeyAndRequest } from '../../../src/lib/certificate-request.ts';
import { issueToNode } from '../../../src/pki/certificates.ts';
import { leadsTo, readChain } from '../../../src/pki/chain.ts';
import { readRequest } from '../../../src/pki/request.ts';
import { type ExternalSigner, readSigner, type SignerTexts } from '../../../src/pki/signer.ts';
import { type CaOptions, type CompanyCa, createCompanyRoot } from '../../support/company-ca.ts';

const now = Date.now();
const day = 86_400_000;
const subject = { trustDomain: 'fairway-1', fleet: 'edge', node: 'lb-1', uid: '6b3c8f6e-2f4d-4c53-9c1b-2f8f4e1a9d10' };
let root: CompanyCa;
let middle: CompanyCa;
let ca: CompanyCa;

beforeAll(async () => {
  root = await createCompanyRoot('Company Root');
  middle = await root.sign('Company Services', { pathLength: 1 });
  ca = await middle.sign('Company Fairway', { pathLength: 0 });
});

function good(texts: SignerTexts): ExternalSigner {
  const read = readSigner(texts, now);
  if (!read.ok) throw new Error(JSON.stringify(read.error));
  return read.value;
}

async function leafOf(signer: ExternalSigner, lifeMs = day) {
  const { request } = await createKeyAndRequest('lb-1');
  const key = await readRequest(request);
  if (!key.ok) throw new Error(key.error);
  return issueToNode(signer, key.value, subject, { now, lifeMs });
}

describe('a CA from outside', () => {
  const ways: readonly [name: string, texts: () => SignerTexts][] = [
    ['a chain that ends with its root', () => ({ cert: ca.cert + middle.cert + root.cert, key: ca.key })],
    ['a chain, and the root apart', () => ({ cert: ca.cert + middle.cert, key: ca.key, root: root.cert })],
    ['both', () => ({ cert: ca.cert + middle.cert + root.cert, key: ca.key, root: root.cert })],
  ];
  it.each(ways)('is read from %s, and what it signs leads to that root', async (_name, texts) => {
    const signer = good(texts());
    expect(signer.root.trim()).toBe(root.cert.trim());
    expect(signer.id).toBe(good({ cert: middle.cert, key: middle.key, root: root.cert }).id);
    const { certificate } = await leafOf(signer);
    const chain = readChain(certificate) ?? expect.fail('no chain');
    expect(chain).toHaveLength(3);
    const roots = [new X509Certificate(root.cert)];
    expect(leadsTo(roots, chain, now)).toBe(true);
    // Without what is between, nobody could say.
    expect(leadsTo(roots, [chain[0]], now)).toBe(false);
    expect(leadsTo([new X509Certificate((await createCompanyRoot('Other')).cert)], chain, now)).toBe(false);
    expect(leadsTo(roots, chain, now + 400 * day)).toBe(false);
  });

  it('may be the root itself', async () => {
    const signer = good({ cert: root.cert, key: root.key });
    const chain = readChain((await leafOf(signer)).certificate) ?? expect.fail('no chain');
    expect(chain).toHaveLength(1);
    expect(leadsTo([new X509Certificate(root.cert)], chain, now)).toBe(true);
  });

  it('bounds what it signs by the first end in its chain', async () => {
    const brief = await root.sign('Brief', { notAfter: new Date(now + 10 * day) });
    const below = await brief.sign('Below', { notAfter: new Date(now + 100 * day) });
    const signer = good({ cert: below.cert + brief.cert, key: below.key, root: root.cert });
    const { notAfter } = await leafOf(signer, 30 * day);
    expect(notAfter).toBe(Math.floor((now + 10 * day) / 1000) * 1000);
    await expect(leafOf({ ...signer, until: now })).rejects.toMatchObject({ code: 'NotReady' });
  });

  const kinds: readonly [name: string, options: CaOptions][] = [
    ['P-384', { algorithm: { name: 'ECDSA', namedCurve: 'P-384' } }],
    ['P-521', { algorithm: { name: 'ECDSA', namedCurve: 'P-521' } }],
    [
      'RSA',
      {
        algorithm: {
          name: 'RSASSA-PKCS1-v1_5',
          modulusLength: 2048,
          publicExponent: new Uint8Array([1, 0, 1]),
          hash: 'SHA-256',
        },
      },
    ],
    ['a name of its own for its key', { keyId: '0102030405' }],
  ];
  it.each(kinds)('signs with %s', async (_name, options) => {
    const own = await root.sign('Own', options);
    const { certificate } = await leafOf(good({ cert: own.cert, key: own.key, root: root.cert }));
    const chain = readChain(certificate) ?? expect.fail('no chain');
    expect(leadsTo([new X509Certificate(root.cert)], chain, now)).toBe(true);
    expect(chain[0].checkIssued(new X509Certificate(own.cert))).toBe(true);
  });

  const wrongs: readonly [name: string, texts: () => Promise<SignerTexts>, pointer: string, words: string][] = [
    ['no certificate', async () => ({ cert: 'hello', key: ca.key }), 'caCert', 'holds no certificate'],
    ['no key', async () => ({ cert: ca.cert, key: 'hello', root: root.cert }), 'caKey', 'holds no private key'],
    [
      'the key of another one',
      async () => ({ cert: ca.cert + middle.cert, key: middle.key, root: root.cert }),
      'caKey',
      'does not belong to the first certificate',
    ],
    ['a chain in the wrong order', async () => ({ cert: middle.cert + ca.cert, key: middle.key }), 'caCert', 'order'],
    ['no root', async () => ({ cert: ca.cert + middle.cert, key: ca.key }), 'caRoot', 'is needed'],
    [
      'the root of another',
      async () => ({ cert: middle.cert, key: middle.key, root: (await createCompanyRoot('Other')).cert }),
      'caRoot',
      'holds nothing that has signed',
    ],
    [
      'another root than the one at its end',
      async () => ({ cert: root.cert, key: root.key, root: (await createCompanyRoot('Other')).cert }),
      'caRoot',
      'does not hold the root',
    ],
    ['a root that is none', async () => ({ cert: ca.cert, key: ca.key, root: middle.cert }), 'caRoot', 'is no root'],
    [
      'a certificate that is not one of a CA',
      () => signed({ isCa: false }),
      'caCert',
      'certificate 1 is not one of a CA (basic constraints)',
    ],
    ['a CA that may not sign certificates', () => signed({ usages: KeyUsageFlags.cRLSign }), 'caCert', 'keyCertSign'],
    [
      'a CA for clients alone',
      () => signed({ purposes: [ExtendedKeyUsage.clientAuth] }),
      'caCert',
      'extended key usage',
    ],
    ['one that has expired', () => signed({ notAfter: new Date(now - 1000) }), 'caCert', 'certificate 1 expired at'],
    [
      'one that is not valid yet',
      () => signed({ notBefore: new Date(now + day) }),
      'caCert',
      'certificate 1 is not valid before',
    ],
    [
      'a path length that allows no CA below',
      async () => {
        const narrow = await root.sign('Narrow', { pathLength: 0 });
        const below = await narrow.sign('Below');
        return { cert: below.cert + narrow.cert, key: below.key, root: root.cert };
      },
      'caCert',
      'certificate 2 allows 0 CAs below it (path length of the basic constraints), and has 1',
    ],
    [
      'a root whose path length allows no CA below',
      async () => {
        const narrow = await createCompanyRoot('Narrow', { pathLength: 0 });
        const below = await narrow.sign('Below');
        return { cert: below.cert, key: below.key, root: narrow.cert };
      },
      'caRoot',
      'the root allows 0 CAs below it',
    ],
  ];
  async function signed(options: CaOptions): Promise<SignerTexts> {
    const made = await root.sign('Made', options);
    return { cert: made.cert, key: made.key, root: root.cert };
  }
  it.each(wrongs)('is refused with %s', async (_name, texts, pointer, words) => {
    const given = await texts();
    const read = readSigner(given, now);
    expect(read).toMatchObject({ ok: false, error: [{ pointer, message: expect.stringContaining(words) }] });
    expect(JSON.stringify(read)).not.toContain(given.key.split('\n')[1] ?? '-');
  });
});

describe('a chain', () => {
  it('does not go through what is no CA', async () => {
    const leaf = await leafOf(good({ cert: ca.cert + middle.cert, key: ca.key, root: root.cert }));
    const no = await root.sign('No', { isCa: false });
    const below = await no.sign('Below');
    const roots = [new X509Certificate(root.cert)];
    const chain = readChain(below.cert + no.cert) ?? expect.fail('no chain');
    expect(leadsTo(roots, chain, now)).toBe(false);
    const narrow = await root.sign('Narrow', { pathLength: 0 });
    const [one, two] = [await narrow.sign('One'), await narrow.sign('Two')];
    expect(leadsTo(roots, readChain(one.cert + narrow.cert) ?? expect.fail('no chain'), now)).toBe(true);
    const three = await two.sign('Three');
    expect(leadsTo(roots, readChain(three.cert + two.cert + narrow.cert) ?? expect.fail('no chain'), now)).toBe(false);
    expect(readChain('x')).toBeUndefined();
    expect(readChain(leaf.certificate)).toHaveLength(3);
  });
});
