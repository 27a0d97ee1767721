import { createCipheriv, createDecipheriv, createSecretKey, hash, type KeyObject, randomBytes } from 'node:crypto';
import { FairwayError } from './errors.ts';
import { err, ok, type Result } from './result.ts';

/**
 * Secrets at rest: AES-256-GCM with data keys that are kept apart from what they seal.
 *
 * A sealed text is `fw1.KEY.BYTES`: the form, the id of the data key, and in base64url a random nonce of 96 bits, the
 * ciphertext and a tag of 128 bits (NIST SP 800-38D). The place that a secret stands at is associated data: a sealed
 * text that was moved elsewhere does not open. With random nonces one key may seal 2^32 times (section 8.3 there), far
 * more often than keys are written.
 */

export interface Sealer {
  /** Id of the key that seals; all of `keyIds` open. */
  readonly keyId: string;
  readonly keyIds: ReadonlySet<string>;
  /** `place` says where the sealed text will stand; it opens nowhere else. */
  seal(plain: string, place: string): string;
  /** Throws `FairwayError` `Internal` for a key that is not there, and for a text that was changed or moved. */
  open(sealed: string, place: string): string;
}

/** One data key. Its id follows from it, so that two keys never share one. */
export interface DataKey {
  readonly id: string;
  readonly key: KeyObject;
}

const form = 'fw1';
const algorithm = 'aes-256-gcm';
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
/** Base64 of 32 bytes. */
const keyText = /^[A-Za-z0-9+/]{43}=$/;

/** The last of the keys seals. */
export function createSealer(keys: readonly [...DataKey[], DataKey]): Sealer {
  const newest = keys.at(-1) as DataKey;
  const byId = new Map(keys.map(({ id, key }) => [id, key]));
  return {
    keyId: newest.id,
    keyIds: new Set(byId.keys()),
    seal(plain, place) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv(algorithm, newest.key, nonce, { authTagLength: tagBytes });
      cipher.setAAD(Buffer.from(place));
      const bytes = Buffer.concat([nonce, cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return `${form}.${newest.id}.${bytes.toString('base64url')}`;
    },
    open(sealed, place) {
      const id = keyIdOf(sealed);
      const key = id === undefined ? undefined : byId.get(id);
      if (id === undefined) throw cannotOpen('it is not of a form that this version knows');
      if (key === undefined) throw cannotOpen(`it is sealed with data key ${id}, which is not among those given`);
      const bytes = Buffer.from(sealed.slice(form.length + id.length + 2), 'base64url');
      const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes });
      try {
        decipher.setAAD(Buffer.from(place));
        decipher.setAuthTag(bytes.subarray(-tagBytes));
        return decipher.update(bytes.subarray(nonceBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8');
      } catch {
        // The words of the cipher say no more.
        throw cannotOpen(`data key ${id} does not open it: it was changed, or moved from elsewhere`);
      }
    },
  };
}

/** The id of the key that sealed a text; undefined when it is no sealed text. */
export function keyIdOf(sealed: string): string | undefined {
  return /^fw1\.([0-9a-f]{16})\.[A-Za-z0-9_-]{38,}$/.exec(sealed)?.[1];
}

function cannotOpen(fault: string): FairwayError {
  return new FairwayError('Internal', `opening a secret: ${fault}`);
}

/**
 * A ring of keys from text: base64 of 32 bytes each, separated by white space, with comments from `#` to the end of the
 * line; the last one seals. What is wrong with it never holds a part of it.
 */
export function parseDataKeys(text: string): Result<[...DataKey[], DataKey], string> {
  const words = text
    .split('\n')
    .flatMap((line) => line.replace(/#.*$/, '').split(/\s+/))
    .filter((word) => word !== '');
  const wrong = words.findIndex((word) => !keyText.test(word));
  if (wrong >= 0) return err(`key ${wrong + 1} of ${words.length} is not 32 bytes in base64`);
  const keys = words.map((word) => dataKeyOf(Buffer.from(word, 'base64')));
  const [last, ...others] = keys.reverse();
  if (last === undefined) return err('there is no key in it');
  return ok([...others.reverse(), last]);
}

/** Text of a new key, as `parseDataKeys` reads it. */
export function newDataKey(): string {
  return randomBytes(keyBytes).toString('base64');
}

function dataKeyOf(bytes: Buffer): DataKey {
  // With words before it, so that the hash is of no use to anybody who has others of the key.
  const id = hash('sha256', Buffer.concat([Buffer.from('fairway data key\n'), bytes]), 'hex').slice(0, 16);
  return { id, key: createSecretKey(bytes) };
}
