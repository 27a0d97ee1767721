import type { X509Certificate } from 'node:crypto';
import { err, ok, type Result } from '../lib/result.ts';
import { identityOf, type NodeIdentity } from './identity.ts';

/** Why the owner of a certificate is not let in. `unauthenticated`: nobody knows who it is. */
export interface Refusal {
  readonly reason: 'unauthenticated' | 'denied';
  readonly words: string;
}

export interface PeersOptions {
  /** Of the Node object of that name, as this controller's View has it; undefined: there is none. */
  readonly uidOf: (name: string) => string | undefined;
  /** Until when the newest certificate of a node is good that this authority made; undefined: it made none. */
  readonly goodUntil: (node: string, uid: string) => number | undefined;
  /** Of the authority; undefined where one from outside signs, which may have any. */
  readonly trustDomain?: () => string;
  /** Of authorities that take certificates back by lists. */
  readonly isRevoked?: (certificate: X509Certificate) => boolean;
  readonly now: () => number;
}

/** Who may be at the other end of a connection: the one place that decides it, for new streams and for open ones. */
export type Identify = (certificate: X509Certificate) => Result<NodeIdentity, Refusal>;

/**
 * A node is let in while its Node object is there and its certificate is good. A stream may outlive the certificate that
 * it was opened with, as long as its node has a newer one: so a renewal breaks nothing.
 */
export function createIdentify({ uidOf, goodUntil, trustDomain, isRevoked, now }: PeersOptions): Identify {
  // Read once: a review looks at those of all streams.
  const known = new WeakMap<X509Certificate, Result<NodeIdentity, string>>();

  return (certificate) => {
    let identity = known.get(certificate);
    if (identity === undefined) {
      identity = identityOf(certificate);
      known.set(certificate, identity);
    }
    if (!identity.ok) return err({ reason: 'unauthenticated', words: `the certificate ${identity.error}` });
    const { node, uid } = identity.value;
    if (trustDomain !== undefined && identity.value.trustDomain !== trustDomain()) {
      return err({ reason: 'unauthenticated', words: 'the certificate is of another trust domain' });
    }
    if (uid !== undefined && uidOf(node) !== uid) {
      return err({ reason: 'denied', words: `the node ${node} of this certificate was deleted` });
    }
    if (isRevoked?.(certificate) === true) return err({ reason: 'denied', words: 'the certificate was revoked' });
    const until = Math.max(certificate.validToDate.getTime(), (uid && goodUntil(node, uid)) || 0);
    if (until <= now()) return err({ reason: 'unauthenticated', words: 'the certificate has expired' });
    return ok(identity.value);
  };
}
