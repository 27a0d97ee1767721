import { contentHash } from '../lib/hash.ts';

/** RFC 1123 label: what names of objects are. */
const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** Characters of a name that is made from an id which is no label, before the hash that keeps names apart. */
const maxStem = 50;
const hashLength = 8;

/**
 * Name of the Node object of a proxy: its `node.id` where that is a name, else a readable form of it with a hash, so
 * that any Envoy may be pointed at Fairway whatever it calls itself.
 */
export function nodeName(nodeId: string): string {
  if (label.test(nodeId)) return nodeId;
  const stem = nodeId
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+/, '')
    .slice(0, maxStem)
    .replace(/-+$/, '');
  const hash = contentHash(nodeId)
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '0')
    .slice(0, hashLength);
  return stem === '' ? `node-${hash}` : `${stem}-${hash}`;
}
