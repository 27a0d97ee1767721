import { randomBytes } from 'node:crypto';
import { formatToken, isExpired, parseToken, type TokenRecord } from '../../access/index.ts';
import type { Clock } from '../../lib/clock.ts';
import { err, ok } from '../../lib/result.ts';
import type { Tokens } from '../ports.ts';
import type { Login, LoginFault } from './credential.ts';
import { createRemembered } from './remembered.ts';
import { hashSecret, matchesHash } from './slow-hash.ts';
import { createTurns } from './turns.ts';

/** Checks tokens of our own making. One per API. */
export interface StaticTokens {
  /** Id of a token that there is; undefined for all else. Costs nothing. */
  idOf(text: string): string | undefined;
  /** What is known of it without any work, if it is. */
  known(text: string): Login | undefined;
  check(text: string): Promise<Login>;
}

/** Two leave two threads of the pool to files and names. So many others may wait, a second or two at most. */
const turns = { atOnce: 2, waiting: 64 } as const;

/** So long a verdict is good without looking again. What is taken back or expires is out at once all the same. */
const rememberedMs = 300_000;

interface Verdict {
  readonly id: string;
  /** Of the record that it was compared with. */
  readonly hash: string;
  readonly isRight: boolean;
}

export function createStaticTokens(tokens: Tokens, clock: Clock): StaticTokens {
  const remembered = createRemembered<Verdict>();
  const slowly = createTurns(turns);

  function refused(fault: LoginFault): Login {
    return err({ means: 'token', fault });
  }

  function accepted(record: TokenRecord): Login {
    const { id, name, hash, expiresAt } = record;
    return ok({
      identity: { name, kind: 'token', groups: [] },
      expiresAt: expiresAt === undefined ? undefined : Date.parse(expiresAt),
      holds() {
        const now = tokens.get(id);
        return now?.hash === hash && !isExpired(now, clock());
      },
    });
  }

  function known(text: string): Login | undefined {
    const parts = parseToken(text);
    if (parts === undefined) return refused('malformed');
    const record = tokens.get(parts.id);
    if (record === undefined) return refused('unknown');
    const verdict = remembered.get(text, clock());
    if (verdict?.hash !== record.hash) return undefined;
    if (!verdict.isRight) return refused('wrong');
    return isExpired(record, clock()) ? refused('expired') : accepted(record);
  }

  async function look(text: string): Promise<Login> {
    const parts = parseToken(text);
    const record = parts === undefined ? undefined : tokens.get(parts.id);
    if (parts === undefined || record === undefined) return refused('unknown');
    const { id, hash } = record;
    const isRight = await slowly.run(() => matchesHash(parts.secret, hash));
    if (isRight === undefined) return err({ means: 'token', fault: 'busy', retryAfterMs: 1000 });
    remembered.set(text, { id, hash, isRight }, clock() + rememberedMs);
    return known(text) ?? refused('unknown');
  }

  return {
    idOf(text) {
      const parts = parseToken(text);
      return parts === undefined || tokens.get(parts.id) === undefined ? undefined : parts.id;
    },
    known,
    check: async (text) => known(text) ?? look(text),
  };
}

/** No `i`, `l`, `o` and `u`: they are taken for others, or make words (Crockford's base 32). */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const idChars = 12;
const secretChars = 52;

/** A new token: its text, which is shown once, and what is stored of it. */
export async function mintToken(
  about: Pick<TokenRecord, 'name' | 'createdAt' | 'createdBy' | 'expiresAt'>,
): Promise<{ readonly text: string; readonly record: TokenRecord }> {
  const id = randomText(idChars);
  const secret = randomText(secretChars);
  return { text: formatToken({ id, secret }), record: { id, ...about, hash: await hashSecret(secret) } };
}

/** 32 divides 256, so that every character is as likely as any other. */
function randomText(length: number): string {
  return Array.from(randomBytes(length), (byte) => alphabet[byte % alphabet.length]).join('');
}
