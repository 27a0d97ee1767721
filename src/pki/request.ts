// Metadata of decorators, which @peculiar/x509 needs to find in place.
import 'reflect-metadata';
import { createPublicKey, type KeyObject } from 'node:crypto';
import { Pkcs10CertificateRequest } from '@peculiar/x509';
import { err, ok, type Result } from '../lib/result.ts';

/** One of a P-384 key with a long name has a thousand. */
const maxChars = 16 * 1024;

/** What nodes may have: what Envoy takes, and no more than a signature may cost. */
const curves = ['prime256v1', 'secp384r1'];
const rsaBits = { min: 2048, max: 4096 };

/**
 * The key of a certificate request, once its signature shows that whoever sends it has the key. Names that it asks for
 * do not count: who a certificate is for is said by who asks. The error goes after "the request for a certificate".
 */
export async function readRequest(text: string): Promise<Result<KeyObject, string>> {
  if (text.length > maxChars) return err(`is longer than ${maxChars} characters`);
  let request: Pkcs10CertificateRequest;
  let key: KeyObject;
  try {
    request = new Pkcs10CertificateRequest(text);
    key = createPublicKey({ key: Buffer.from(request.publicKey.rawData), format: 'der', type: 'spki' });
  } catch {
    return err('cannot be read: it must be PKCS #10 in PEM');
  }
  const { namedCurve = '', modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
  const isGood =
    (key.asymmetricKeyType === 'ec' && curves.includes(namedCurve)) ||
    (key.asymmetricKeyType === 'rsa' && modulusLength >= rsaBits.min && modulusLength <= rsaBits.max);
  if (!isGood) return err(`must have a key on P-256 or P-384, or an RSA key of ${rsaBits.min} to ${rsaBits.max} bits`);
  const isSigned = await request.verify().catch(() => false);
  return isSigned ? ok(key) : err('is not signed by the key in it');
}
