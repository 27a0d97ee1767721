/**
 * Who somebody is in a certificate: one URI among its alternative names (SPIFFE X.509-SVID, section 2), of which there
 * are two sorts here. The trust domain is that of one installation.
 *
 *   spiffe://TRUST-DOMAIN/controller
 *   spiffe://TRUST-DOMAIN/fleet/FLEET/node/UID-OR-NAME
 */

/** A node. `uid` is that of its Node object: one that is deleted and made again is another node. */
export interface NodeId {
  readonly trustDomain: string;
  readonly fleet: string;
  /** Of the Node object, or, from a CA that knows nothing of these, its name. */
  readonly id: string;
}

const nodeUri = /^spiffe:\/\/([a-z0-9._-]{1,255})\/fleet\/([a-z0-9-]{1,63})\/node\/([a-z0-9-]{1,63})$/;
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function formatNodeId({ trustDomain, fleet, id }: NodeId): string {
  return `spiffe://${trustDomain}/fleet/${fleet}/node/${id}`;
}

export function parseNodeId(uri: string): NodeId | undefined {
  const [, trustDomain, fleet, id] = nodeUri.exec(uri) ?? [];
  return trustDomain === undefined || fleet === undefined || id === undefined ? undefined : { trustDomain, fleet, id };
}

/** Whether the last part of a node's URI is a uid and not a name. */
export function isUid(id: string): boolean {
  return uuid.test(id);
}

/** All controllers of an installation are one to their nodes. */
export function controllerUri(trustDomain: string): string {
  return `spiffe://${trustDomain}/controller`;
}
