// Metadata of decorators, which @peculiar/x509 needs to find in place.
import 'reflect-metadata';
import { X509Certificate } from 'node:crypto';
import { BasicConstraintsExtension, X509Certificate as ParsedCertificate } from '@peculiar/x509';
import { readPem } from '../lib/pem.ts';

/** The certificates of a text in PEM, leaf first; undefined when it is none. */
export function readChain(text: string): readonly [X509Certificate, ...X509Certificate[]] | undefined {
  const blocks = readPem(text);
  if (!blocks.ok) return undefined;
  try {
    const [leaf, ...others] = blocks.value.map((block) => new X509Certificate(block.text));
    return leaf === undefined ? undefined : [leaf, ...others];
  } catch {
    return undefined;
  }
}

/**
 * Whether the first certificate of a chain leads to one of the roots, each signed by the next, which is a CA and good now.
 * Whether the first one is good now is for the caller, who has words for it.
 */
export function leadsTo(
  roots: readonly X509Certificate[],
  [leaf, ...issuers]: readonly [X509Certificate, ...X509Certificate[]],
  now: number,
): boolean {
  let last = leaf;
  for (const [below, issuer] of issuers.entries()) {
    if (roots.some((root) => signed(last, root, below, now))) return true;
    if (!signed(last, issuer, below, now)) return false;
    last = issuer;
  }
  return roots.some((root) => signed(last, root, issuers.length, now));
}

/** How many CAs there may be between this one and a leaf; infinitely many where it does not say. */
export function pathLengthOf(certificate: X509Certificate): number {
  const parsed = new ParsedCertificate(new Uint8Array(certificate.raw));
  return parsed.getExtension(BasicConstraintsExtension)?.pathLength ?? Number.POSITIVE_INFINITY;
}

/** `below`: how many CAs are between the issuer and the leaf. */
function signed(certificate: X509Certificate, issuer: X509Certificate, below: number, now: number): boolean {
  return (
    issuer.ca &&
    isGoodAt(issuer, now) &&
    pathLengthOf(issuer) >= below &&
    certificate.checkIssued(issuer) &&
    certificate.verify(issuer.publicKey)
  );
}

function isGoodAt(certificate: X509Certificate, now: number): boolean {
  return certificate.validFromDate.getTime() <= now && now < certificate.validToDate.getTime();
}
