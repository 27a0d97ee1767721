/**
 * The authority that signs the certificates of nodes and controllers, and how a new root takes the place of the old one:
 *
 *   steady ──rotate──▶ spreading ──every node has a certificate of the new root──▶ serving ──a while later──▶ steady
 *
 * - *spreading*: both roots are trusted and the new one signs for nodes, who get both with the next certificate;
 *   controllers still show one of the old root, which is the only one that all nodes know.
 * - *serving*: controllers show certificates of the new root. Once all of them do, nothing needs the old one.
 */

export interface AuthorityRecord {
  /** Of this installation, in the names that certificates give. */
  readonly trustDomain: string;
  /** Whose signatures count, oldest first: one, or two during a rotation. */
  readonly roots: readonly RootRecord[];
  /** Id of the root that signs for nodes. */
  readonly signing: string;
  /** Id of the root that signs for controllers. */
  readonly serving: string;
  /** RFC 3339: since when `serving` is that root. */
  readonly servingSince: string;
}

export interface RootRecord {
  readonly id: string;
  /** PEM. */
  readonly certificate: string;
  /** What signs below it is in files of the controllers, and not here. */
  readonly external?: true;
}

/** The newest certificate of a node. */
export interface IssuedRecord {
  /** Of the Node object that it was made for. */
  readonly uid: string;
  readonly fleet: string;
  /** Id of the root that signed it. */
  readonly root: string;
  /** Hexadecimal. */
  readonly serial: string;
  /** RFC 3339. */
  readonly issuedAt: string;
  readonly notAfter: string;
}

export type RotationStep =
  /** Nothing rotates. */
  | { readonly kind: 'steady' }
  /** `until`: when to look again, though nothing may have changed. `nodes`: names of those waited for, sorted. */
  | { readonly kind: 'wait'; readonly until: number; readonly nodes: readonly string[] }
  | { readonly kind: 'write'; readonly record: AuthorityRecord };

export interface RotationInput {
  /** Node name → its newest certificate. */
  readonly issued: Iterable<readonly [string, IssuedRecord]>;
  /** Of the Node object of that name; undefined: there is none. */
  readonly uidOf: (name: string) => string | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** How long controllers have to follow: the longest that one may lag behind the store. */
  readonly followMs: number;
}

/** Two roots at once are enough: a rotation goes on until its end before another one begins. */
export function startRotation(record: AuthorityRecord, root: RootRecord): AuthorityRecord | undefined {
  if (record.roots.length > 1) return undefined;
  return { ...record, roots: [...record.roots, root], signing: root.id };
}

/**
 * A controller was given a CA below another root. Where that root is the next one, or was the one before, its CA is the one
 * to sign from now on; undefined when it has to wait for the end of a rotation between two others.
 */
export function turnTo(record: AuthorityRecord, root: RootRecord): AuthorityRecord | undefined {
  if (!record.roots.some(({ id }) => id === root.id)) return startRotation(record, root);
  return record.signing === root.id ? record : { ...record, signing: root.id };
}

/** The next step of a rotation, by whoever looks: the same from the same input. */
export function planRotation(record: AuthorityRecord, { issued, uidOf, now, followMs }: RotationInput): RotationStep {
  if (record.roots.length < 2) return { kind: 'steady' };
  const nodes: string[] = [];
  let until = Number.POSITIVE_INFINITY;
  for (const [name, { uid, root, notAfter }] of issued) {
    const expires = Date.parse(notAfter);
    if (root === record.signing || expires <= now || uidOf(name) !== uid) continue;
    nodes.push(name);
    until = Math.min(until, expires);
  }
  if (nodes.length > 0) return { kind: 'wait', until, nodes: nodes.sort() };
  if (record.serving !== record.signing) {
    return {
      kind: 'write',
      record: { ...record, serving: record.signing, servingSince: new Date(now).toISOString() },
    };
  }
  const followed = Date.parse(record.servingSince) + followMs;
  if (now < followed) return { kind: 'wait', until: followed, nodes };
  return { kind: 'write', record: { ...record, roots: record.roots.filter(({ id }) => id === record.signing) } };
}
