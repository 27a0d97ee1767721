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
  /** The newest certificate of a node that this authority made; undefined: it made none. Milliseconds since 1970. */
  readonly newest: (node: string, uid: string) => { readonly fleet: string; readonly notAfter: number } | undefined;
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
export function createIdentify({ uidOf, newest, trustDomain, isRevoked, now }: PeersOptions): Identify {
  // Read once: a review looks at those of all streams.
  const known = new WeakMap<X509Certificate, Result<NodeIdentity, string>>();

  return (certificate) => {
    let identity = known.get(certificate);
    if (identity === undefined) {
      identity = identityOf(certificate);
      known.set(certificate, identity);
    }
    if (!identity.ok) return err({ reason: 'unauthenticated', words: `the certificate ${identity.error}` });
    const { node, fleet, uid } = identity.value;
    if (trustDomain !== undefined && identity.value.trustDomain !== trustDomain()) {
      return err({ reason: 'unauthenticated', words: 'the certificate is of another trust domain' });
    }
    if (uid !== undefined && uidOf(node) !== uid) {
      return err({ reason: 'denied', words: `the node ${node} of this certificate was deleted` });
    }
    if (isRevoked?.(certificate) === true) return err({ reason: 'denied', words: 'the certificate was revoked' });
    const last = uid === undefined ? undefined : newest(node, uid);
    if (last !== undefined && last.fleet !== fleet) {
      return err({ reason: 'denied', words: `the node ${node} has joined the fleet ${last.fleet} since` });
    }
    const until = Math.max(certificate.validToDate.getTime(), last?.notAfter ?? 0);
    if (until <= now()) return err({ reason: 'unauthenticated', words: 'the certificate has expired' });
    return ok(identity.value);
  };
}
