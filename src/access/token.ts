/** An API token as it is stored: who it stands for, and a slow hash of its secret half. */
export interface TokenRecord {
  /** The half of a token that is no secret. */
  readonly id: string;
  /** Several tokens may have one name, so that one can take the place of another. */
  readonly name: string;
  /** scrypt of the secret half, with its parameters and salt. */
  readonly hash: string;
  /** RFC 3339. */
  readonly createdAt: string;
  /** Who made it. */
  readonly createdBy: string;
  /** RFC 3339; absent: it does not expire. */
  readonly expiresAt?: string;
}

/** The two halves of a token's text, `fwt_ID_SECRET`. The prefix lets scanners of sources find one that leaked. */
export interface TokenParts {
  readonly id: string;
  readonly secret: string;
}

export const tokenPrefix = 'fwt_';

/** Characters of the halves: 60 and 256 bits in base 32 without look-alikes. */
const form = /^fwt_([0-9a-z]{12})_([0-9a-z]{52})$/;

export function formatToken({ id, secret }: TokenParts): string {
  return `${tokenPrefix}${id}_${secret}`;
}

/** Undefined: it is not the text of a token. */
export function parseToken(text: string): TokenParts | undefined {
  const [, id, secret] = form.exec(text) ?? [];
  return id === undefined || secret === undefined ? undefined : { id, secret };
}

export function isExpired({ expiresAt }: Pick<TokenRecord, 'expiresAt'>, now: number): boolean {
  return expiresAt !== undefined && Date.parse(expiresAt) <= now;
}
