import { describe, expect, it } from 'vitest';
import { backendsOf, listenerPortsOf, parseObjects, readManifests, withPorts } from '../../../src/demo/examples.ts';
import { objectKey, referencesOf } from '../../../src/model/index.ts';

const manifest = `
apiVersion: fairway/v1
kind: BackendPool
metadata: { name: web }
spec: { members: [{ address: 127.0.0.1, port: 9002 }, { address: 127.0.0.1, port: 9001, weight: 3 }] }
---
apiVersion: fairway/v1
kind: BackendPool
metadata: { name: db, scope: team }
spec: { members: [{ address: 127.0.0.1, port: 9007 }] }
---
apiVersion: fairway/v1
kind: BackendPool
metadata: { name: db }
spec: { members: [{ address: 127.0.0.1, port: 9008 }] }
---
apiVersion: fairway/v1
kind: BackendPool
metadata: { name: none }
---
apiVersion: fairway/v1
kind: VirtualService
metadata: { name: shop }
spec:
  listeners:
    - { name: web, port: 80, protocol: HTTP, defaultAction: { forward: [{ pool: web }] } }
    - { name: db, port: 5432, protocol: TCP, defaultAction: { pool: team/db } }
`;

describe('objects of a manifest', () => {
  const objects = parseObjects(manifest, 'test.yaml');

  it('need a backend for each port of a member, and one for TCP where a TCP listener uses the pool', () => {
    expect(backendsOf(objects)).toEqual([
      { port: 9001, protocol: 'HTTP' },
      { port: 9002, protocol: 'HTTP' },
      { port: 9007, protocol: 'TCP' },
      { port: 9008, protocol: 'HTTP' },
    ]);
  });

  it('listen on ports', () => {
    expect(listenerPortsOf(objects)).toEqual([80, 5432]);
  });

  it('can have other ports, and are the same in everything else', () => {
    const ports = new Map([...backendsOf(objects).map(({ port }) => port), 80].map((port) => [port, port + 10_000]));
    const moved = withPorts(objects, ports);
    const text = JSON.stringify(objects).replaceAll(
      /"port":(900\d|80)\b/g,
      (_, port) => `"port":${Number(port) + 10_000}`,
    );
    expect(moved).toEqual(JSON.parse(text));
  });

  it.each([
    ['what is no YAML', 'kind: [', /^bad\.yaml: line 1/],
    [
      'a wrong field',
      'apiVersion: fairway/v1\nkind: Fleet\nmetadata: { name: x }\nspec: { hi: 1 }',
      /^bad\.yaml: \/spec\/hi/,
    ],
  ])('are refused with the place of the fault: %s', (_name, text, message) => {
    expect(() => parseObjects(text, 'bad.yaml')).toThrow(message);
  });
});

describe('the example manifests', () => {
  const objects = readManifests();

  it('refer to nothing but each other, a certificate aside that is made when they are used', () => {
    const known = new Set(objects.map(({ kind, metadata }) => objectKey(kind, metadata.scope, metadata.name)));
    const missing = objects.flatMap(referencesOf).filter(({ key }) => !known.has(key));
    expect(missing.map(({ key }) => key)).toEqual(['Certificate/default/shop-tls']);
  });

  it('need three HTTP backends and a TCP one, all on loopback', () => {
    expect(backendsOf(objects).map(({ protocol }) => protocol)).toEqual(['HTTP', 'HTTP', 'HTTP', 'TCP']);
    const addresses = objects.flatMap((object) => {
      if (object.kind === 'VirtualService') return object.spec.addresses?.map(({ address }) => address) ?? ['all'];
      return object.kind === 'BackendPool' ? (object.spec.members ?? []).map(({ address }) => address) : [];
    });
    expect(new Set(addresses)).toEqual(new Set(['127.0.0.1']));
  });
});
