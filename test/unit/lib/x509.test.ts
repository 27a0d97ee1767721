import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type CertificateInput, inspectCertificate } from '../../../src/lib/x509.ts';

const read = (name: string) => readFileSync(new URL(`../../support/certificates/${name}.pem`, import.meta.url), 'utf8');

const p256 = read('p256');
const p256Key = read('p256.key');
const intermediate = read('intermediate');
const root = read('root');
const chain = p256 + intermediate;

const now = Date.parse('2030-01-01T00:00:00Z');
const long = Date.parse('2200-01-01T00:00:00Z');

/** Pointers with a part of the message. */
type Want = readonly (readonly [pointer: string, message: RegExp])[];

function faultsOf(input: CertificateInput, at = now): readonly (readonly [string, string])[] {
  const result = inspectCertificate(input, at);
  return result.ok ? [] : result.error.map(({ pointer, message }) => [pointer, message] as const);
}

describe('accepted', () => {
  test.each<[string, CertificateInput, { keyType: string; keyBits: number }]>([
    ['a leaf alone', { chain: p256, key: p256Key }, { keyType: 'ECDSA', keyBits: 256 }],
    ['a chain', { chain, key: p256Key }, { keyType: 'ECDSA', keyBits: 256 }],
    ['a chain with its root', { chain: chain + root, key: p256Key }, { keyType: 'ECDSA', keyBits: 256 }],
    ['a key in the old form', { chain, key: read('p256.sec1.key') }, { keyType: 'ECDSA', keyBits: 256 }],
    [
      'comments between',
      { chain: `the leaf\n${p256}\n# its issuer\n${intermediate}`, key: p256Key },
      { keyType: 'ECDSA', keyBits: 256 },
    ],
    [
      'lines that end in CR LF',
      { chain: chain.replaceAll('\n', '\r\n'), key: p256Key.replaceAll('\n', '\r\n') },
      { keyType: 'ECDSA', keyBits: 256 },
    ],
    ['P-384', { chain: read('p384') + intermediate, key: read('p384.key') }, { keyType: 'ECDSA', keyBits: 384 }],
    ['P-521', { chain: read('p521') + intermediate, key: read('p521.key') }, { keyType: 'ECDSA', keyBits: 521 }],
    ['RSA', { chain: read('rsa2048') + intermediate, key: read('rsa2048.key') }, { keyType: 'RSA', keyBits: 2048 }],
    ['a CA', { ca: root }, { keyType: 'ECDSA', keyBits: 256 }],
    ['several CAs in any order', { ca: intermediate + root }, { keyType: 'ECDSA', keyBits: 256 }],
  ])('%s', (_, input, want) => {
    expect(inspectCertificate(input, now)).toMatchObject({ ok: true, value: want });
  });

  test('facts of the leaf', () => {
    const facts = inspectCertificate({ chain, key: p256Key }, now);
    expect(facts).toMatchObject({
      ok: true,
      value: {
        subject: 'O=Example, CN=shop.example',
        sans: ['DNS:shop.example', 'DNS:*.shop.example', 'IP Address:10.0.0.1'],
        fingerprint: expect.stringMatching(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/),
        notBefore: expect.stringMatching(/^20\d\d-\d\d-\d\dT/),
        notAfter: expect.stringMatching(/^21\d\d-\d\d-\d\dT/),
      },
    });
  });
});

describe('refused', () => {
  const damaged = p256.replace(/\n[A-Za-z0-9+/]{8}/, '\n????????');
  const wrongBytes = p256.replace(/\n[A-Za-z0-9+/]{8}/, '\nAAAAAAAA');
  test.each<[string, CertificateInput, Want]>([
    ['nothing', {}, [['/spec/chain', /is required/]]],
    ['no certificate in it', { chain: 'hello', key: p256Key }, [['/spec/chain', /holds no certificate/]]],
    ['not base64', { chain: damaged, key: p256Key }, [['/spec/chain', /block 1 is not base64/]]],
    ['not a certificate', { chain: wrongBytes, key: p256Key }, [['/spec/chain', /certificate 1 cannot be read/]]],
    ['a block without end', { chain: p256.slice(0, 200), key: p256Key }, [['/spec/chain', /block 1 has no END line/]]],
    [
      'a block within a block',
      { chain: `${p256.slice(0, 200)}\n${p256}`, key: p256Key },
      [['/spec/chain', /block 1 has no END/]],
    ],
    [
      'a damaged BEGIN line',
      { chain: p256.replace('BEGIN', 'BEGNI'), key: p256Key },
      [['/spec/chain', /END line that does not fit/]],
    ],
    ['an indented block', { chain: p256.replaceAll(/^/gm, '  '), key: p256Key }, [['/spec/chain', /line is damaged/]]],
    [
      'a key in the chain',
      { chain: p256 + p256Key, key: p256Key },
      [['/spec/chain', /holds a private key \(block 2\)/]],
    ],
    [
      'the root first',
      { chain: root + intermediate + p256, key: p256Key },
      [
        ['/spec/chain', /certificate 1 is not signed by certificate 2/],
        ['/spec/chain', /certificate 2 is not signed by certificate 3/],
        ['/spec/key', /does not belong/],
      ],
    ],
    [
      'a stranger in the chain',
      { chain: p256 + root, key: p256Key },
      [['/spec/chain', /certificate 1 is not signed by certificate 2/]],
    ],
    [
      'an issuer that is no CA',
      { chain: read('not-ca') + p256, key: p256Key },
      [
        ['/spec/chain', /certificate 2 signs another one but is not one of a CA/],
        ['/spec/key', /does not belong/],
      ],
    ],
    ['a chain without key', { chain }, [['/spec/key', /is required/]]],
    ['the key of another', { chain, key: read('p384.key') }, [['/spec/key', /does not belong/]]],
    ['an encrypted key', { chain, key: read('p256.encrypted.key') }, [['/spec/key', /is encrypted/]]],
    ['a certificate as key', { chain, key: p256 }, [['/spec/key', /must be a private key, not a CERTIFICATE/]]],
    ['two keys', { chain, key: p256Key + p256Key }, [['/spec/key', /one private key/]]],
    ['a cut key', { chain, key: p256Key.slice(0, 120) }, [['/spec/key', /is not valid PEM/]]],
    [
      'a key that is none',
      { chain, key: p256Key.replace(/\n[A-Za-z0-9+/]{8}/, '\nAAAAAAAA') },
      [['/spec/key', /cannot be read|can be read/]],
    ],
    [
      'a short RSA key',
      { chain: read('rsa1024'), key: read('rsa1024.key') },
      [['/spec/chain', /RSA key of 1024 bits/]],
    ],
    [
      'an unusual curve',
      { chain: read('secp256k1'), key: read('secp256k1.key') },
      [['/spec/chain', /curve secp256k1/]],
    ],
    ['Ed25519', { chain: read('ed25519'), key: read('ed25519.key') }, [['/spec/chain', /key of type ed25519/]]],
    ['a leaf as CA', { ca: p256 }, [['/spec/ca', /certificate 1 is not one of a CA/]]],
  ])('%s', (_, input, want) => {
    const faults = faultsOf(input);
    expect(faults.map(([pointer]) => pointer)).toEqual(want.map(([pointer]) => pointer));
    for (const [i, [, message]] of want.entries()) expect(faults[i]?.[1]).toMatch(message);
  });

  test('an expired chain, each certificate named', () => {
    expect(faultsOf({ chain, key: p256Key }, long)).toEqual([
      ['/spec/chain', expect.stringMatching(/^certificate 1 expired at 21/)],
      ['/spec/chain', expect.stringMatching(/^certificate 2 expired at 21/)],
    ]);
  });

  test('a chain that is not valid yet', () => {
    expect(faultsOf({ ca: root }, 0)).toEqual([
      ['/spec/ca', expect.stringMatching(/certificate 1 is not valid before 20/)],
    ]);
  });
});

test('no message holds key material', () => {
  const body = p256Key.split('\n').slice(1, -2);
  const inputs: CertificateInput[] = [
    { chain: p256 + p256Key },
    { chain: p256Key, key: p256 },
    { chain, key: p256Key.slice(0, 120) },
    { chain, key: `${p256Key}garbage-----` },
    { chain, key: p256Key.replace('PRIVATE KEY', 'PUBLIC KEY') },
    { ca: p256Key },
  ];
  for (const input of inputs) {
    const text = JSON.stringify(faultsOf(input));
    expect(text).not.toBe('[]');
    for (const line of body) expect(text).not.toContain(line.slice(0, 12));
  }
});
