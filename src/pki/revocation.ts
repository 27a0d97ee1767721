// Metadata of decorators, which @peculiar/x509 needs to find in place.
import 'reflect-metadata';
import type { X509Certificate } from 'node:crypto';
import { X509Certificate as ParsedCertificate, X509Crl } from '@peculiar/x509';
import { listsIn } from '../lib/tls-files.ts';

/**
 * Whether a certificate is on one of the lists, for those who are connected already: whoever connects is checked in the
 * handshake, the signatures of the lists included. Throws when one of them cannot be read.
 */
export function createRevocation(pem: string): (certificate: X509Certificate) => boolean {
  const lists = listsIn(pem).map((text) => new X509Crl(text));
  return (certificate) => {
    const parsed = new ParsedCertificate(new Uint8Array(certificate.raw));
    return lists.some((list) => list.issuer === parsed.issuer && list.findRevoked(parsed) !== null);
  };
}
