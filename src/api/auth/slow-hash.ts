import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

/**
 * The form in which secrets of tokens are kept: `scrypt$N$r$p$salt$hash`. A stolen database does not give the tokens
 * away. The work is done by Node's thread pool, never by the event loop: 16 MiB and some tens of milliseconds each.
 * Secrets have 256 random bits, so more work would slow down nobody but us.
 */
const cost = { N: 16_384, r: 8, p: 1 } as const;
const hashBytes = 32;
const saltBytes = 16;

const derive: (secret: string, salt: Buffer, length: number, options: ScryptOptions) => Promise<Buffer> =
  promisify(scrypt);

export async function hashSecret(secret: string): Promise<string> {
  const salt = randomBytes(saltBytes);
  const hash = await derive(secret, salt, hashBytes, cost);
  const { N, r, p } = cost;
  return ['scrypt', N, r, p, salt.toString('base64url'), hash.toString('base64url')].join('$');
}

/** False too for a hash in a form that is not known: whoever wrote it was a later version. */
export async function matchesHash(secret: string, stored: string): Promise<boolean> {
  const [algorithm, N, r, p, salt, hash] = stored.split('$');
  if (algorithm !== 'scrypt' || salt === undefined || hash === undefined) return false;
  const want = Buffer.from(hash, 'base64url');
  const options = { N: Number(N), r: Number(r), p: Number(p) };
  const got = await derive(secret, Buffer.from(salt, 'base64url'), want.length, options);
  return timingSafeEqual(got, want);
}
