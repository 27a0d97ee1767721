import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type DraftObject, type DraftOf, objectKey, parseManifest, parseObject, resolveRef } from '../model/index.ts';

/** The example manifests as objects, and what they need to run beside others on one machine. */

const examples = fileURLToPath(new URL('../../envoy/examples', import.meta.url));

/** All objects of the manifests in a folder (the examples unless told otherwise), by file and then as they stand there. */
export function readManifests(folder = examples): DraftObject[] {
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.yaml'))
    .sort();
  return files.flatMap((name) => parseObjects(readFileSync(join(folder, name), 'utf8'), name));
}

/** The objects of a manifest that is known to be right. */
export function parseObjects(text: string, name: string): DraftObject[] {
  const documents = parseManifest(text, { format: 'yaml' });
  if (!documents.ok) throw new Error(`${name}: ${documents.error[0]?.message}`);
  return documents.value.map((document) => {
    const object = parseObject(document);
    if (object.ok) return object.value;
    const [fault] = object.error;
    throw new Error(`${name}: ${fault?.pointer} ${fault?.message}`);
  });
}

/** A server that the examples expect to run. */
export interface NeededBackend {
  readonly port: number;
  readonly protocol: 'HTTP' | 'TCP';
}

/** The servers behind all pools, by port. A pool behind a TCP listener needs one that speaks TCP. */
export function backendsOf(objects: readonly DraftObject[]): NeededBackend[] {
  const tcpPools = new Set(
    ofKind(objects, 'VirtualService').flatMap(({ metadata, spec }) =>
      spec.listeners.flatMap(({ defaultAction }) =>
        defaultAction?.pool === undefined ? [] : [resolveRef(defaultAction.pool, 'BackendPool', metadata.scope ?? '')],
      ),
    ),
  );
  const protocols = new Map<number, NeededBackend['protocol']>();
  for (const { metadata, spec } of ofKind(objects, 'BackendPool')) {
    const protocol = tcpPools.has(objectKey('BackendPool', metadata.scope, metadata.name)) ? 'TCP' : 'HTTP';
    for (const { port } of spec.members ?? []) protocols.set(port, protocol);
  }
  return [...protocols].map(([port, protocol]) => ({ port, protocol })).sort((a, b) => a.port - b.port);
}

/** Ports that the services of the examples listen on. */
export function listenerPortsOf(objects: readonly DraftObject[]): number[] {
  return [...new Set(ofKind(objects, 'VirtualService').flatMap(({ spec }) => spec.listeners.map(({ port }) => port)))];
}

/** The same objects with every port of a listener or a member exchanged. Ports that `ports` does not name stay. */
export function withPorts(objects: readonly DraftObject[], ports: ReadonlyMap<number, number>): DraftObject[] {
  const moved = <T extends { readonly port: number }>(item: T): T => ({
    ...item,
    port: ports.get(item.port) ?? item.port,
  });
  return objects.map((object): DraftObject => {
    if (object.kind === 'VirtualService') {
      return { ...object, spec: { ...object.spec, listeners: object.spec.listeners.map(moved) } };
    }
    if (object.kind === 'BackendPool' && object.spec.members !== undefined) {
      return { ...object, spec: { ...object.spec, members: object.spec.members.map(moved) } };
    }
    return object;
  });
}

/** The objects of one kind. */
function ofKind<K extends DraftObject['kind']>(objects: readonly DraftObject[], kind: K): DraftOf<K>[] {
  return objects.filter((object): object is DraftObject & DraftOf<K> => object.kind === kind);
}
