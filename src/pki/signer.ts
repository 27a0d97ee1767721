// Metadata of decorators, which @peculiar/x509 needs to find in place.
import 'reflect-metadata';
import { createHash, X509Certificate } from 'node:crypto';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  X509Certificate as ParsedCertificate,
} from '@peculiar/x509';
import type { FieldError } from '../lib/errors.ts';
import { readPem } from '../lib/pem.ts';
import { err, ok, type Result } from '../lib/result.ts';
import { inspectCertificate } from '../lib/x509.ts';
import type { Signer } from './certificates.ts';
import { pathLengthOf } from './chain.ts';

/** A CA that was signed outside, with the root that it leads to. */
export interface ExternalSigner extends Required<Signer> {
  /** PEM. */
  readonly root: string;
}

/** PEM, as operators keep it. */
export interface SignerTexts {
  /** Certificate of the CA, then those between it and the root, which may be the last one. */
  readonly cert: string;
  readonly key: string;
  /** Roots, one of which it leads to; absent: `cert` ends with its root. */
  readonly root?: string | undefined;
}

/** Fields of the configuration that name the files. */
const fields = { '/spec/chain': 'caCert', '/spec/key': 'caKey', '/spec/ca': 'caRoot' } as const;

/**
 * A CA from texts, once nothing is wrong with it that nodes or controllers would find wrong with what it signs. `pointer`
 * of a fault is the field of the configuration. `now`: milliseconds since 1970.
 */
export function readSigner({ cert, key, root }: SignerTexts, now: number): Result<ExternalSigner, FieldError[]> {
  const inspected = inspectCertificate({ chain: cert, key }, now);
  if (!inspected.ok) return err(inField(inspected.error));
  const trusted = root === undefined ? undefined : inspectCertificate({ ca: root }, now);
  if (trusted !== undefined && !trusted.ok) return err(inField(trusted.error));
  const given = certificatesOf(cert);
  const anchor = anchorOf(given, root === undefined ? undefined : certificatesOf(root));
  if (!anchor.ok) return err([anchor.error]);
  const between = given.filter((certificate) => !same(certificate, anchor.value));
  const chain = [...between, anchor.value];
  const [own = anchor.value] = chain;
  const faults = chain.flatMap((certificate, i) => {
    const inCert = i < given.length;
    const which = inCert ? `certificate ${i + 1}` : 'the root';
    const pointer = inCert ? fields['/spec/chain'] : fields['/spec/ca'];
    return usageFaults(certificate, i).map((fault) => ({ pointer, message: `${which} ${fault}` }));
  });
  if (faults.length > 0) return err(faults);
  return ok({
    id: createHash('sha256').update(anchor.value.raw).digest('hex').slice(0, 16),
    certificate: pem(own),
    key,
    chain: between.map(pem).join(''),
    until: Math.min(...chain.map((certificate) => certificate.validToDate.getTime())),
    root: pem(anchor.value),
  });
}

/** What keeps a CA from signing for nodes and controllers, with so many CAs between it and them. */
function usageFaults(certificate: X509Certificate, below: number): string[] {
  const parsed = new ParsedCertificate(new Uint8Array(certificate.raw));
  const faults: string[] = [];
  if (parsed.getExtension(BasicConstraintsExtension)?.ca !== true)
    faults.push('is not one of a CA (basic constraints)');
  const usages = parsed.getExtension(KeyUsagesExtension)?.usages;
  if (usages !== undefined && (usages & KeyUsageFlags.keyCertSign) === 0) {
    faults.push('may not sign certificates (key usage: it lacks keyCertSign)');
  }
  const purposes = parsed.getExtension(ExtendedKeyUsageExtension)?.usages;
  const needed = [ExtendedKeyUsage.clientAuth, ExtendedKeyUsage.serverAuth];
  if (purposes !== undefined && !purposes.includes(anyPurpose) && !needed.every((use) => purposes.includes(use))) {
    faults.push('is not for TLS clients and servers (extended key usage: clientAuth and serverAuth are needed)');
  }
  const length = pathLengthOf(certificate);
  if (length < below) {
    faults.push(`allows ${length} CAs below it (path length of the basic constraints), and has ${below}`);
  }
  return faults;
}

/** RFC 5280 section 4.2.1.12. */
const anyPurpose = '2.5.29.37.0';

/** The root that a chain leads to: its own last one, or one of those that are trusted. */
function anchorOf(
  chain: readonly X509Certificate[],
  roots: readonly X509Certificate[] | undefined,
): Result<X509Certificate, FieldError> {
  const last = chain.at(-1);
  if (last !== undefined && isSelfSigned(last)) {
    if (roots === undefined || roots.some((root) => same(root, last))) return ok(last);
    return err({ pointer: 'caRoot', message: 'does not hold the root that caCert ends with' });
  }
  if (roots === undefined)
    return err({ pointer: 'caRoot', message: 'is needed, since caCert does not end with a root' });
  const found = roots.find((root) => last?.checkIssued(root) && last.verify(root.publicKey));
  if (found === undefined)
    return err({ pointer: 'caRoot', message: 'holds nothing that has signed the last certificate of caCert' });
  if (isSelfSigned(found)) return ok(found);
  return err({
    pointer: 'caRoot',
    message:
      'what has signed the last certificate of caCert is no root, since another CA has signed it: it belongs into caCert',
  });
}

function isSelfSigned(certificate: X509Certificate): boolean {
  return certificate.checkIssued(certificate) && certificate.verify(certificate.publicKey);
}

function inField(errors: readonly FieldError[]): FieldError[] {
  return errors.map(({ pointer, message }) => ({ pointer: fields[pointer as keyof typeof fields], message }));
}

/** Of a text that was inspected. */
function certificatesOf(text: string): readonly X509Certificate[] {
  const blocks = readPem(text);
  return blocks.ok ? blocks.value.map((block) => new X509Certificate(block.text)) : [];
}

function same(a: X509Certificate, b: X509Certificate): boolean {
  return a.fingerprint256 === b.fingerprint256;
}

function pem(certificate: X509Certificate): string {
  return certificate.toString();
}
