import type { Identity } from '../../access/index.ts';
import type { Result } from '../../lib/result.ts';

/** Who asks, and for how long that is so. */
export interface Credential {
  readonly identity: Identity;
  /** Milliseconds since 1970; undefined: it does not end by itself. */
  readonly expiresAt: number | undefined;
  /** Whether it still counts: a token may be taken back while a watch is open. */
  holds(): boolean;
}

/** By what somebody said who they are. */
export type Means = 'none' | 'token' | 'oidc' | 'certificate';

/** Why nobody is believed to be who they say. A value that is log field and test oracle at once. */
export type LoginFault =
  | 'missing'
  | 'scheme'
  | 'malformed'
  | 'unknown'
  | 'wrong'
  | 'expired'
  | 'untrusted'
  | 'no-name'
  /** Too many failures before this one: it was not looked at. */
  | 'throttled'
  /** Too many others are looked at: it was not. */
  | 'busy'
  /** Whoever vouches for it cannot be asked. */
  | 'issuer-unavailable';

export interface LoginRefusal {
  readonly means: Means;
  readonly fault: LoginFault;
  /** For the log: what was wrong, never a part of what was sent. */
  readonly detail?: string;
  /** When it makes sense to try again, of faults that pass. */
  readonly retryAfterMs?: number;
}

export type Login = Result<Credential, LoginRefusal>;
