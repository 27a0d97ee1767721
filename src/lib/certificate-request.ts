// Metadata of decorators, which @peculiar/x509 needs to find in place.
import 'reflect-metadata';
import { createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify, webcrypto } from 'node:crypto';
import { Pkcs10CertificateRequestGenerator } from '@peculiar/x509';

/** A key that never leaves its machine, and the request for a certificate that is signed by it (PKCS #10). */
export interface KeyAndRequest {
  /** PEM, PKCS #8. */
  readonly key: string;
  /** PEM. */
  readonly request: string;
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

/** Makes a new P-256 key. The name is for people: who it is for is said by whoever signs. */
export async function createKeyAndRequest(commonName: string): Promise<KeyAndRequest> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const request = await Pkcs10CertificateRequestGenerator.create({
    name: [{ CN: [commonName] }],
    keys: await webKeysOf(key),
    signingAlgorithm: algorithm,
  });
  return { key, request: `${request.toString('pem')}\n` };
}

/** A P-256 key as Web Cryptography wants it, which @peculiar/x509 speaks. */
export async function webKeysOf(pem: string): Promise<webcrypto.CryptoKeyPair> {
  const { subtle } = webcrypto;
  const key = createPrivateKey(pem);
  const privateKey = await subtle.importKey('pkcs8', key.export({ type: 'pkcs8', format: 'der' }), algorithm, false, [
    'sign',
  ]);
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' });
  return { privateKey, publicKey: await subtle.importKey('spki', spki, algorithm, true, ['verify']) };
}

/** What is signed with the present key to ask for the next certificate; nobody could take it for anything else. */
function proofText(request: string): Buffer {
  return Buffer.from(`fairway renewal\n${request}`);
}

/**
 * Proves to have the key of the present certificate, bound to this request. Not the connection proves it, so that a proxy
 * may stand in between; who repeats it gets a certificate for a key that he has not got.
 */
export function proveRenewal(key: string, request: string): string {
  return sign('sha256', proofText(request), createPrivateKey(key)).toString('base64url');
}

/** `publicKey`: that of the present certificate. */
export function isRenewalProof(publicKey: Parameters<typeof verify>[2], request: string, proof: string): boolean {
  return verify('sha256', proofText(request), publicKey, Buffer.from(proof, 'base64url'));
}
