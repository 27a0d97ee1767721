import { expect } from 'vitest';
import { type Kind, parseObject } from '../../../src/model/index.ts';

/** Specs that use every field of their kind. Tests change one thing in them. */
export const samples = {
  Scope: {},
  RoleBinding: {
    subjects: [{ user: 'ada@example.com' }, { group: 'web' }, { token: 'ci' }],
    role: 'operator',
    scopes: ['web', '*'],
    permissions: ['machinery', 'secrets', 'system-policies', 'metrics'],
  },
  Fleet: { ha: 'everyNode', drainTimeout: '30s' },
  Node: { labels: { 'example.com/rack': 'r1' }, failureDomain: 'r1' },
  Certificate: {
    chain: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
    key: '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n',
    allowedScopes: ['*'],
  },
  BackendPool: {
    members: [
      { address: '10.0.0.5', port: 8080, weight: 1, priority: 0, enabled: true, drain: false },
      { address: '2001:db8::5', port: 8080 },
      { address: 'app.internal', port: 8080 },
    ],
    algorithm: 'maglev',
    hash: { source: 'header', name: 'x-user' },
    healthChecks: [
      {
        type: 'HTTP',
        path: '/healthz?full=1',
        host: 'app.internal',
        expect: ['200-299', '304', 401],
        interval: '5s',
        timeout: '3s',
        rise: 2,
        fall: 3,
      },
    ],
    outlierDetection: { consecutive5xx: 5, interval: '10s', baseEjection: '30s', maxEjectionPercent: 50 },
    limits: { maxConnections: 10_000, maxPending: 1000, maxRequests: 4_294_967_295, perMember: 1000 },
    connectTimeout: '5s',
    drainTimeout: '60s',
    tls: { sni: 'shop.internal', ca: 'internal-ca', certificate: 'infra/client-cert' },
    protocol: 'auto',
    allowedScopes: ['team-a', 'team-b'],
  },
  VirtualService: {
    enabled: true,
    fleet: 'edge',
    addresses: [{ address: '203.0.113.10' }, { address: '2001:db8::10' }],
    listeners: [
      {
        name: 'web',
        port: 443,
        protocol: 'HTTPS',
        certificates: ['shop-tls', 'infra/wildcard'],
        hosts: ['shop.example', '*.shop.example'],
        routes: [
          {
            hosts: ['images.shop.example'],
            rules: [
              {
                name: 'images',
                match: [{ path: { prefix: '/images' }, methods: ['GET', 'HEAD'] }],
                action: {
                  forward: [
                    { pool: 'images', weight: 90 },
                    { pool: 'next', weight: 10 },
                  ],
                },
              },
            ],
          },
        ],
        allowedRoutes: { scopes: ['default', 'team-a'], hosts: ['*.shop.example'] },
        defaultAction: { forward: [{ pool: 'web' }], websocket: true },
        idleTimeout: '60s',
      },
      { name: 'plain', port: 80, protocol: 'HTTP', defaultAction: { redirect: { scheme: 'https', code: 301 } } },
      { name: 'db', port: 5432, protocol: 'TCP', defaultAction: { pool: 'db' } },
    ],
    drainTimeout: '30s',
    policyFailMode: 'deny',
  },
  Route: {
    attachTo: [{ virtualService: 'edge/shop', listener: 'web' }],
    hosts: ['a.shop.example'],
    rules: [
      {
        name: 'api',
        match: [
          {
            path: { prefix: '/api' },
            methods: ['GET'],
            headers: [
              { name: 'X-Version', regex: 'v[0-9]+' },
              { name: 'x-debug', present: true, invert: true },
            ],
            query: [
              { name: 'q', exact: '1' },
              { name: 'p', prefix: 'a' },
            ],
          },
          { path: { prefix: '/api2' } },
        ],
        action: {
          forward: [{ pool: 'api' }],
          rewrite: { host: 'api.internal', prefix: '/' },
          headers: {
            request: { set: { 'x-from': '100 %' }, add: { via: 'fairway' }, remove: ['x-secret'] },
            response: { set: { server: 'shop' } },
          },
          timeout: '10s',
          idleTimeout: '1m',
          retry: {
            on: ['5xx', 'unavailable'],
            attempts: 2,
            perTry: '3s',
            backoff: { base: '50ms', max: '1s' },
          },
          websocket: true,
        },
      },
      {
        name: 'old',
        match: [{ path: { regex: '/old/(.*)' } }],
        action: {
          forward: [{ pool: 'api' }],
          rewrite: { regex: { pattern: '^/old/(.*)$', substitution: '/new/\\1' } },
        },
      },
      {
        name: 'moved',
        match: [{ path: { exact: '/x' } }],
        action: { redirect: { host: 'y.example', port: 8443, path: '/y' } },
      },
      { name: 'no', action: { respond: { status: 403, body: 'no' } } },
    ],
  },
} as const satisfies Record<Kind, unknown>;

/** An object of a kind around a spec. */
export function objectWith(kind: Kind, spec: unknown = samples[kind], metadata: unknown = { name: 'sample' }) {
  return { apiVersion: 'fairway/v1', kind, metadata, spec };
}

/**
 * A deep copy of a sample with some places changed: keys are JSON pointers into the spec, `undefined` takes a field out.
 * Places that do not exist yet are made.
 */
export function changed(kind: Kind, changes: Readonly<Record<string, unknown>>): unknown {
  const spec: unknown = structuredClone(samples[kind]);
  for (const [pointer, value] of Object.entries(changes)) setAt(spec, pointer.split('/').slice(1), value);
  return spec;
}

function setAt(target: unknown, [field = '', ...rest]: readonly string[], value: unknown): void {
  const object = target as Record<string, unknown>;
  if (rest.length > 0) {
    object[field] ??= {};
    setAt(object[field], rest, value);
  } else if (value === undefined) delete object[field];
  else object[field] = value;
}

/** Name, changes to the sample of the kind (JSON pointers into the spec), and the errors: pointer and a part of the text. */
export type Malformed = readonly [
  name: string,
  changes: Readonly<Record<string, unknown>>,
  want: readonly (readonly [pointer: string, message: RegExp])[],
];

/** Expects exactly these errors of a changed sample. */
export function expectFaults(kind: Kind, [, changes, want]: Malformed): void {
  const result = parseObject(objectWith(kind, changed(kind, changes)));
  const faults = result.ok ? [] : result.error;
  expect(faults.map(({ pointer }) => pointer)).toEqual(want.map(([pointer]) => `/spec${pointer}`));
  for (const [i, [, message]] of want.entries()) expect(faults[i]?.message).toMatch(message);
}
