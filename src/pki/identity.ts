import type { X509Certificate } from 'node:crypto';
import { err, ok, type Result } from '../lib/result.ts';
import { isUid, parseNodeId } from '../lib/spiffe-id.ts';
import { subjectAltNames } from '../lib/x509.ts';

/** Who a client certificate is for. */
export interface NodeIdentity {
  /** Name of the Node object. */
  readonly node: string;
  readonly fleet: string;
  /** Of the Node object; undefined from a CA that only knows names. */
  readonly uid: string | undefined;
  readonly trustDomain: string;
}

const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * Reads the alternative names: one URI of a node, and, where that has a uid, one DNS name that is the node's. The error
 * goes after "the certificate".
 */
export function identityOf(certificate: X509Certificate): Result<NodeIdentity, string> {
  const names = subjectAltNames(certificate.subjectAltName);
  const uris = names.flatMap((name) => (name.startsWith('URI:') ? [name.slice('URI:'.length)] : []));
  const nodes = uris.flatMap((uri) => parseNodeId(uri) ?? []);
  const [id] = nodes;
  if (id === undefined) return err('names no node: it has no URI spiffe://DOMAIN/fleet/FLEET/node/NODE');
  if (nodes.length > 1) return err('names more than one node');
  const { trustDomain, fleet } = id;
  if (!isUid(id.id)) return ok({ node: id.id, fleet, uid: undefined, trustDomain });
  const [node, ...others] = names.flatMap((name) => (name.startsWith('DNS:') ? [name.slice('DNS:'.length)] : []));
  if (node === undefined || others.length > 0 || !label.test(node)) {
    return err('names a node by its uid, and must have its name as the only DNS name');
  }
  return ok({ node, fleet, uid: id.id, trustDomain });
}
