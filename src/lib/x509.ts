import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import type { FieldError } from './errors.ts';
import { type PemBlock, readPem } from './pem.ts';
import { err, ok, type Result } from './result.ts';

/**
 * The checks of a certificate that need cryptography. A proxy refuses a pair that does not fit only when it gets it, and
 * then other secrets of the same response may be lost with it, so everything it would refuse is refused here.
 */

export interface CertificateInput {
  readonly chain?: string;
  readonly key?: string;
  readonly ca?: string;
}

/** Of the leaf of a chain, or of the first certificate of a CA bundle, except where said. */
export interface CertificateFacts {
  /** RFC 4514-like, `CN=shop, O=Shop`; empty when only alternative names say whose it is. */
  readonly subject: string;
  /** Subject alternative names with their kind: `DNS:shop.example`, `IP Address:10.0.0.1`. */
  readonly sans: readonly string[];
  /** RFC 3339. The latest of all certificates: from then on all are valid. */
  readonly notBefore: string;
  /** RFC 3339. The earliest of all certificates: until then all are valid. */
  readonly notAfter: string;
  readonly keyType: 'RSA' | 'ECDSA';
  readonly keyBits: number;
  /** SHA-256, hexadecimal with colons. */
  readonly fingerprint: string;
}

/** Clocks differ: a certificate that becomes valid within this time is taken. */
const clockSkewMs = 5 * 60_000;

/** Envoy: "only RSA certificates with 2048-bit or larger keys are supported"; BoringSSL reads none above 8192. */
const rsaBits = { min: 2048, max: 8192 };

/**
 * Envoy: "only P-256, P-384 or P-521 ECDSA certificates are supported". By OpenSSL's names. Ed25519 it would load, but
 * BoringSSL offers no signature of that kind unless told to, so every handshake would fail.
 */
const curveBits: Readonly<Record<string, number>> = { prime256v1: 256, secp384r1: 384, secp521r1: 521 };

/**
 * Facts of a chain with its key, or of a CA bundle; else everything that is wrong with it, with pointers from the root of
 * a Certificate object. Messages never hold a part of the input.
 *
 * A chain must begin with the leaf and each certificate must be signed by the next, all of them must be valid at `now`
 * (milliseconds), and the key, not encrypted, must be that of the leaf.
 */
export function inspectCertificate(
  input: CertificateInput,
  now: number,
): Result<CertificateFacts, readonly FieldError[]> {
  return input.ca === undefined ? inspectChain(input, now) : inspectBundle(input.ca, now);
}

function inspectChain({ chain, key }: CertificateInput, now: number): Result<CertificateFacts, readonly FieldError[]> {
  if (chain === undefined) return err([{ pointer: '/spec/chain', message: 'is required, or `ca` instead' }]);
  const certificates = readCertificates(chain, '/spec/chain');
  if (!certificates.ok) return err([certificates.error]);
  const errors = [
    ...certificates.value.flatMap((certificate, i) => certificateFaults(certificate, i, now)),
    ...certificates.value.flatMap((certificate, i) => orderFaults(certificate, certificates.value[i + 1], i)),
  ].map((message) => ({ pointer: '/spec/chain', message }));
  const keyFault = key === undefined ? 'is required with a chain' : privateKeyFault(key, certificates.value[0]);
  if (keyFault !== undefined) errors.push({ pointer: '/spec/key', message: keyFault });
  return conclude(certificates.value, errors);
}

function inspectBundle(ca: string, now: number): Result<CertificateFacts, readonly FieldError[]> {
  const certificates = readCertificates(ca, '/spec/ca');
  if (!certificates.ok) return err([certificates.error]);
  const errors = certificates.value.flatMap((certificate, i) => {
    const faults = certificateFaults(certificate, i, now);
    return certificate.ca ? faults : [...faults, `certificate ${i + 1} is not one of a CA (basic constraints)`];
  });
  return conclude(
    certificates.value,
    errors.map((message) => ({ pointer: '/spec/ca', message })),
  );
}

function conclude(
  certificates: readonly X509Certificate[],
  errors: readonly FieldError[],
): Result<CertificateFacts, readonly FieldError[]> {
  const [leaf] = certificates;
  const strength = leaf === undefined ? undefined : keyStrength(leaf.publicKey);
  if (errors.length > 0 || leaf === undefined || strength === undefined) return err(errors);
  return ok({
    subject: leaf.subject?.replaceAll('\n', ', ') ?? '',
    sans: subjectAltNames(leaf.subjectAltName),
    notBefore: new Date(Math.max(...certificates.map((one) => one.validFromDate.getTime()))).toISOString(),
    notAfter: new Date(Math.min(...certificates.map((one) => one.validToDate.getTime()))).toISOString(),
    ...strength,
    fingerprint: leaf.fingerprint256,
  });
}

function readCertificates(text: string, pointer: string): Result<readonly X509Certificate[], FieldError> {
  const blocks = readPem(text);
  if (!blocks.ok) return err({ pointer, message: `is not valid PEM: ${blocks.error}` });
  const certificates: X509Certificate[] = [];
  for (const [i, block] of blocks.value.entries()) {
    if (block.label.endsWith('PRIVATE KEY')) {
      return err({ pointer, message: `holds a private key (block ${i + 1}); a key belongs into \`key\` alone` });
    }
    if (block.label !== 'CERTIFICATE') {
      return err({ pointer, message: `block ${i + 1} must be a CERTIFICATE, not a ${block.label}` });
    }
    const certificate = readCertificate(block);
    if (certificate === undefined) return err({ pointer, message: `certificate ${i + 1} cannot be read` });
    certificates.push(certificate);
  }
  return certificates.length === 0 ? err({ pointer, message: 'holds no certificate' }) : ok(certificates);
}

/** Undefined when OpenSSL cannot read it. Its own words are left out: they may quote what was given. */
function readCertificate(block: PemBlock): X509Certificate | undefined {
  try {
    const certificate = new X509Certificate(block.text);
    // Reading the key is lazy, and throws when the algorithm is unknown.
    return certificate.publicKey === undefined ? undefined : certificate;
  } catch {
    return undefined;
  }
}

function certificateFaults(certificate: X509Certificate, index: number, now: number): readonly string[] {
  const which = `certificate ${index + 1}`;
  const faults: string[] = [];
  if (certificate.validToDate.getTime() <= now) {
    faults.push(`${which} expired at ${certificate.validToDate.toISOString()}`);
  }
  if (certificate.validFromDate.getTime() > now + clockSkewMs) {
    faults.push(`${which} is not valid before ${certificate.validFromDate.toISOString()}`);
  }
  const fault = keyFault(certificate.publicKey);
  if (fault !== undefined) faults.push(`${which} ${fault}`);
  return faults;
}

function orderFaults(
  certificate: X509Certificate,
  issuer: X509Certificate | undefined,
  index: number,
): readonly string[] {
  if (issuer === undefined) return [];
  if (!certificate.checkIssued(issuer) || !certificate.verify(issuer.publicKey)) {
    return [`certificate ${index + 1} is not signed by certificate ${index + 2}: the order is leaf first, root last`];
  }
  return issuer.ca ? [] : [`certificate ${index + 2} signs another one but is not one of a CA (basic constraints)`];
}

/** What is wrong with the kind or size of a public key. */
function keyFault(key: KeyObject): string | undefined {
  if (keyStrength(key) !== undefined) return undefined;
  const { modulusLength, namedCurve } = key.asymmetricKeyDetails ?? {};
  switch (key.asymmetricKeyType) {
    case 'rsa':
      return `has an RSA key of ${modulusLength} bits; from ${rsaBits.min} to ${rsaBits.max} are needed`;
    case 'ec':
      return `has an ECDSA key on the curve ${namedCurve}; proxies take P-256, P-384 and P-521`;
    default:
      return `has a key of type ${key.asymmetricKeyType}; proxies take RSA and ECDSA`;
  }
}

function keyStrength(key: KeyObject): Pick<CertificateFacts, 'keyType' | 'keyBits'> | undefined {
  const { modulusLength = 0, namedCurve = '' } = key.asymmetricKeyDetails ?? {};
  if (key.asymmetricKeyType === 'rsa') {
    const fits = modulusLength >= rsaBits.min && modulusLength <= rsaBits.max;
    return fits ? { keyType: 'RSA', keyBits: modulusLength } : undefined;
  }
  const bits = key.asymmetricKeyType === 'ec' ? curveBits[namedCurve] : undefined;
  return bits === undefined ? undefined : { keyType: 'ECDSA', keyBits: bits };
}

/** What is wrong with the key of `leaf`; undefined when it fits. */
function privateKeyFault(text: string, leaf: X509Certificate | undefined): string | undefined {
  const blocks = readPem(text);
  if (!blocks.ok) return `is not valid PEM: ${blocks.error}`;
  // `openssl ecparam -genkey` writes the curve in a block of its own.
  const keys = blocks.value.filter((block) => block.label !== 'EC PARAMETERS');
  const [block] = keys;
  if (block === undefined) return 'holds no private key';
  if (keys.length > 1) return `must hold one private key and nothing else, not ${keys.length} blocks`;
  if (!block.label.endsWith('PRIVATE KEY')) return `must be a private key, not a ${block.label}`;
  if (block.label.startsWith('ENCRYPTED') || block.text.includes('ENCRYPTED')) {
    return 'is encrypted; proxies need it without a passphrase';
  }
  const key = readPrivateKey(block);
  if (key === undefined) return 'is not a private key that can be read';
  return leaf === undefined || leaf.checkPrivateKey(key)
    ? undefined
    : 'does not belong to the first certificate of the chain';
}

function readPrivateKey(block: PemBlock): KeyObject | undefined {
  try {
    return createPrivateKey(block.text);
  } catch {
    return undefined;
  }
}

/** Splits what Node says of alternative names, `DNS:a, DNS:b`; names with unusual characters are quoted by Node the way JSON does it. */
export function subjectAltNames(text: string | undefined): readonly string[] {
  return text?.match(/[^,\s"][^,"]*(?:"(?:[^"\\]|\\.)*")?/g)?.map((name) => name.trim()) ?? [];
}
