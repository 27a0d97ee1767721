import { createHash, randomBytes } from 'node:crypto';

/**
 * What a new node is given to become a member: `fwj1.ID.SECRET.PIN`. The server knows the secret by its hash alone; the
 * pin is the fingerprint of the CA, by which the node knows the server before it trusts anybody.
 */
export interface JoinToken {
  readonly id: string;
  readonly secret: string;
  /** SHA-256 of the CA's certificate, base64url; see {@link certificatePin}. */
  readonly pin: string;
}

const form = /^fwj1\.([A-Za-z0-9_-]{16})\.([A-Za-z0-9_-]{43})\.([A-Za-z0-9_-]{43})$/;

/** A new one, with 256 bits of chance. */
export function createJoinToken(pin: string): JoinToken {
  return { id: randomBytes(12).toString('base64url'), secret: randomBytes(32).toString('base64url'), pin };
}

export function formatJoinToken({ id, secret, pin }: JoinToken): string {
  return `fwj1.${id}.${secret}.${pin}`;
}

export function parseJoinToken(text: string): JoinToken | undefined {
  const [, id, secret, pin] = form.exec(text.trim()) ?? [];
  return id === undefined || secret === undefined || pin === undefined ? undefined : { id, secret, pin };
}

/** As it is stored. The secret is as long as the hash and random, so that a slow hash would add nothing. */
export function hashOfSecret({ id, secret }: Pick<JoinToken, 'id' | 'secret'>): string {
  return createHash('sha256').update(`${id}.${secret}`).digest('base64url');
}

/** Of a certificate in DER. */
export function certificatePin(der: Uint8Array): string {
  return createHash('sha256').update(der).digest('base64url');
}
