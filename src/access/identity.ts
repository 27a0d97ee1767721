import type { Subject } from '../model/index.ts';

/** Who asks, as authentication has found out. What it may do stands in the bindings. */
export interface Identity {
  /** Of a token its name, of a certificate its common name, of an OIDC token its username claim. */
  readonly name: string;
  /** `local`: whoever reaches a server that asks nobody for an identity. */
  readonly kind: 'token' | 'certificate' | 'oidc' | 'local';
  readonly groups: readonly string[];
}

/** Identifies an identity among all: a token and a person may have one name. */
export function identityKey({ kind, name }: Identity): string {
  return `${kind}:${name}`;
}

/** For messages: `token ci`, `user ada`. */
export function describeIdentity({ kind, name }: Identity): string {
  return `${kind === 'token' ? 'token' : 'user'} ${name}`;
}

/** A token is a subject of its own: a person of the same name has nothing of it, and the other way round. */
export function isSubject(identity: Identity, subject: Subject): boolean {
  if (subject.group !== undefined) return identity.groups.includes(subject.group);
  if (subject.token !== undefined) return identity.kind === 'token' && identity.name === subject.token;
  return identity.kind !== 'token' && identity.kind !== 'local' && identity.name === subject.user;
}
