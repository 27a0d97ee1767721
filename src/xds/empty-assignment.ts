import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { contentHash } from '../lib/hash.ts';
import { encodeResource, type Resource, typeUrls } from './resource.ts';
import { type Entry, entryOf } from './table.ts';

/**
 * A ClusterLoadAssignment without endpoints, for a cluster that exists while its assignment does not: told that the
 * name does not exist, Envoy would end the cluster's warming, or keep the old endpoints of an active one (rule 25).
 */
export function emptyAssignment(name: string, revision: number): Entry {
  const value = new BinaryWriter().tag(1, WireType.LengthDelimited).string(name).finish();
  const hash = contentHash(value);
  const bytes = encodeResource(name, hash, typeUrls.endpoint, value);
  const resource: Resource = { type: typeUrls.endpoint, name, bytes, hash, audience: '', needs: [], parts: [] };
  return entryOf(resource, revision);
}
