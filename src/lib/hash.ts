import { hash } from 'node:crypto';

/** Characters of a content hash. */
export const hashLength = 16;

/**
 * Content hash of bytes or text: the first 96 bits of its SHA-256, as 16 base64url characters. Equal input gives an
 * equal hash on every replica and after every restart.
 */
export function contentHash(content: Uint8Array | string): string {
  return hash('sha256', content, 'base64url').slice(0, hashLength);
}
