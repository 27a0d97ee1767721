/**
 * Worlds of any size, made of the objects that operators write: for each service its address, a certificate, a Route,
 * a pool of three members. Nothing is random: the same size is the same world in every run.
 */
import { type FairwayObject, type Kind, type ObjectKey, objectKey, type SpecOf } from '../src/model/index.ts';

const scope = 'default';

export const fleet = 'edge';

/** Length of what a 2,048-bit certificate with one intermediate and its key have as PEM; the text means nothing. */
const chainBytes = 3400;
const keyBytes = 1700;

const pem = (label: string, sizeBytes: number, at: number): string =>
  `-----BEGIN ${label}-----\n${String(at).padStart(sizeBytes, 'M')}\n-----END ${label}-----\n`;

export function object<K extends Kind>(kind: K, name: string, generation: number, spec: SpecOf<K>): FairwayObject {
  const metadata = {
    name,
    ...(kind === 'Fleet' ? {} : { scope }),
    labels: {},
    annotations: {},
    uid: `uid-${kind}-${name}`,
    generation,
    revision: String(generation),
    createdRevision: '1',
    createdAt: '2026-01-01T00:00:00Z',
  };
  return { apiVersion: 'fairway/v1', kind, metadata, spec } as FairwayObject;
}

export function keyOf({ kind, metadata }: FairwayObject): ObjectKey {
  return objectKey(kind, metadata.scope, metadata.name);
}

/** 10.x.y.z, another one for each service: they all have port 443. */
function address(at: number): string {
  return `10.${(at >> 16) & 255}.${(at >> 8) & 255}.${at & 255}`;
}

export function service(at: number, generation = 1): FairwayObject {
  return object('VirtualService', `service-${at}`, generation, {
    fleet,
    addresses: [{ address: address(at) }],
    listeners: [
      {
        name: 'web',
        port: 443,
        protocol: 'HTTPS',
        hosts: [`service-${at}.example.com`, `www.service-${at}.example.com`],
        certificates: [`service-${at}`],
      },
      { name: 'plain', port: 80, protocol: 'HTTP', defaultAction: { redirect: { scheme: 'https', code: 301 } } },
    ],
  });
}

export function route(at: number, generation = 1): FairwayObject {
  return object('Route', `service-${at}`, generation, {
    attachTo: [{ virtualService: `service-${at}`, listener: 'web' }],
    hosts: [`service-${at}.example.com`],
    rules: [
      {
        name: 'api',
        match: [{ path: { prefix: '/api' } }],
        action: { forward: [{ pool: `service-${at}` }], timeout: `${10 + (generation % 20)}s` },
      },
      { name: 'all', action: { forward: [{ pool: `service-${at}` }] } },
    ],
  });
}

/** `change` is what this generation differs in from the first. */
export function pool(at: number, generation = 1, change: 'member' | 'setting' = 'member'): FairwayObject {
  const port = change === 'member' ? 8000 + (generation % 1000) : 8001;
  return object('BackendPool', `service-${at}`, generation, {
    members: [1, 2, 3].map((member) => ({ address: `172.16.${at & 255}.${member}`, port: member === 1 ? port : 8080 })),
    connectTimeout: change === 'setting' ? `${1 + (generation % 1000)}ms` : '1ms',
    healthChecks: [{ type: 'HTTP', path: '/healthz' }],
  });
}

export function certificate(at: number, generation = 1): FairwayObject {
  return object('Certificate', `service-${at}`, generation, {
    chain: pem('CERTIFICATE', chainBytes, at * 1000 + generation),
    key: pem('PRIVATE KEY', keyBytes, at * 1000 + generation),
  });
}

/** All objects of a world with so many services. */
export function* world(services: number): Generator<FairwayObject> {
  yield object('Fleet', fleet, 1, { ha: 'everyNode' });
  for (let at = 0; at < services; at += 1) {
    yield service(at);
    yield route(at);
    yield pool(at);
    yield certificate(at);
  }
}

/** The same services, each fleet with its share of them. */
export function* worldOfFleets(services: number, fleets: number): Generator<FairwayObject> {
  for (let at = 0; at < fleets; at += 1) yield object('Fleet', `${fleet}-${at}`, 1, { ha: 'everyNode' });
  for (const one of world(services)) {
    if (one.kind === 'Fleet') continue;
    if (one.kind !== 'VirtualService') yield one;
    else {
      const at = Number(one.metadata.name.replace('service-', ''));
      yield {
        ...one,
        spec: { ...(one.spec as SpecOf<'VirtualService'>), fleet: `${fleet}-${at % fleets}` },
      } as FairwayObject;
    }
  }
}

/** Kinds of changes that a world is measured by. */
export const edits: readonly {
  readonly name: string;
  readonly edited: (at: number, generation: number) => FairwayObject;
}[] = [
  { name: 'one member', edited: (at, generation) => pool(at, generation, 'member') },
  { name: 'one route', edited: route },
  { name: 'one certificate', edited: certificate },
  { name: 'one pool setting', edited: (at, generation) => pool(at, generation, 'setting') },
];

/** A Route of the service that everybody shares, with a host of its own. */
export function crowdedRoute(at: number, generation = 1): FairwayObject {
  return object('Route', `route-${at}`, generation, {
    attachTo: [{ virtualService: 'shared', listener: 'web' }],
    hosts: [`route-${at}.example.com`],
    rules: [{ name: 'all', action: { forward: [{ pool: `service-${at}` }], timeout: `${10 + (generation % 20)}s` } }],
  });
}

/** One service with so many Routes, each to a pool of its own. */
export function* crowd(routes: number): Generator<FairwayObject> {
  yield object('Fleet', fleet, 1, { ha: 'everyNode' });
  yield object('VirtualService', 'shared', 1, { fleet, listeners: [{ name: 'web', port: 80, protocol: 'HTTP' }] });
  for (let at = 0; at < routes; at += 1) {
    yield crowdedRoute(at);
    yield pool(at);
  }
}
