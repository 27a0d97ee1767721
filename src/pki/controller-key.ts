import { createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto';

/** By what one controller knows another, whatever certificates their doors have. One per run of a controller. */
export interface ControllerKey {
  /** Raw bytes of the Ed25519 key (RFC 8032), base64url. */
  readonly publicKey: string;
  /** Base64url. */
  sign(bytes: Uint8Array): string;
}

/**
 * Made at the start, and never written down: the others find the public half in what the controller says of itself in the
 * store that they share. Whoever could put another one there could change everything anyway.
 */
export function createControllerKey(): ControllerKey {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const { x = '' } = publicKey.export({ format: 'jwk' });
  return { publicKey: x, sign: (bytes) => sign(null, bytes, privateKey).toString('base64url') };
}

/** False too for a key or a signature that cannot be read. */
export function isSignedBy(publicKey: string, bytes: Uint8Array, signature: string): boolean {
  try {
    const key = createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x: publicKey } });
    return verify(null, bytes, key, Buffer.from(signature, 'base64url'));
  } catch {
    return false;
  }
}
