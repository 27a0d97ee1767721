import { describe, expect, test } from 'vitest';
import {
  actionTimeouts,
  allowsScope,
  type DraftObject,
  effectiveBackendPool,
  effectiveHealthCheck,
  effectiveMember,
  effectiveOutlierDetection,
  effectiveRetry,
  effectiveVirtualService,
  fleetDrainTimeoutMs,
  keepSecrets,
  kindNames,
  listenerIdleTimeoutMs,
  objectKey,
  parseObject,
  parseObjectKey,
  pointerTo,
  redact,
  referencesOf,
  resolveRef,
  sameSpec,
} from '../../../src/model/index.ts';
import { objectWith, samples } from './samples.ts';

function draftOf(input: unknown): DraftObject {
  const result = parseObject(input);
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
}

describe('keys and references', () => {
  test.each([
    ['BackendPool/default/web', 'BackendPool', 'default', 'web'],
    ['Fleet/edge', 'Fleet', undefined, 'edge'],
  ] as const)('%s', (key, kind, scope, name) => {
    expect(objectKey(kind, scope, name)).toBe(key);
    expect(parseObjectKey(key)).toEqual({ kind, name, ...(scope === undefined ? {} : { scope }) });
  });

  test('a reference stays in the scope or leaves it', () => {
    expect(resolveRef('web', 'BackendPool', 'team-a')).toBe('BackendPool/team-a/web');
    expect(resolveRef('infra/web', 'BackendPool', 'team-a')).toBe('BackendPool/infra/web');
  });

  test.each<[string, readonly string[] | undefined, string, boolean]>([
    ['the own scope', undefined, 'a', true],
    ['another one', undefined, 'b', false],
    ['one that is named', ['b'], 'b', true],
    ['one that is not named', ['c'], 'b', false],
    ['every scope', ['*'], 'b', true],
  ])('allowed: %s', (_, allowed, scope, want) => {
    expect(allowsScope('a', allowed, scope)).toBe(want);
  });

  test('pointers escape what they must', () => {
    expect(pointerTo('spec', 0, 'a/b', 'c~d')).toBe('/spec/0/a~1b/c~0d');
  });

  test('every object that a spec names, with its place', () => {
    const references = kindNames.flatMap((kind) => referencesOf(draftOf(objectWith(kind))));
    expect(references.map(({ field, key }) => [field, key])).toEqual([
      ['/spec/scopes/0', 'Scope/web'],
      ['/spec/tls/ca', 'Certificate/default/internal-ca'],
      ['/spec/tls/certificate', 'Certificate/infra/client-cert'],
      ['/spec/fleet', 'Fleet/edge'],
      ['/spec/listeners/0/certificates/0', 'Certificate/default/shop-tls'],
      ['/spec/listeners/0/certificates/1', 'Certificate/infra/wildcard'],
      ['/spec/listeners/0/routes/0/rules/0/action/forward/0/pool', 'BackendPool/default/images'],
      ['/spec/listeners/0/routes/0/rules/0/action/forward/1/pool', 'BackendPool/default/next'],
      ['/spec/listeners/0/defaultAction/forward/0/pool', 'BackendPool/default/web'],
      ['/spec/listeners/2/defaultAction/pool', 'BackendPool/default/db'],
      ['/spec/attachTo/0/virtualService', 'VirtualService/edge/shop'],
      ['/spec/rules/0/action/forward/0/pool', 'BackendPool/default/api'],
      ['/spec/rules/1/action/forward/0/pool', 'BackendPool/default/api'],
    ]);
    for (const { kind, key } of references) expect(parseObjectKey(key).kind).toBe(kind);
  });
});

describe('secrets', () => {
  const { key, ...open } = samples.Certificate;

  test('a certificate is shown without its key, and the original keeps it', () => {
    const draft = draftOf(objectWith('Certificate'));
    expect(redact(draft).spec).toEqual(open);
    expect(draft.spec).toEqual(samples.Certificate);
    expect(JSON.stringify(redact(draft))).not.toContain(key);
  });

  test.each(kindNames.filter((kind) => kind !== 'Certificate'))('%s has nothing to hide', (kind) => {
    const draft = draftOf(objectWith(kind));
    expect(redact(draft)).toEqual(draft);
  });

  test('odd objects come back as they are', () => {
    expect(redact({ kind: 'toString', spec: 1 })).toEqual({ kind: 'toString', spec: 1 });
    expect(redact({ kind: 'Certificate', spec: 'x' })).toEqual({ kind: 'Certificate', spec: 'x' });
    expect(redact({ kind: 'Certificate' })).toEqual({ kind: 'Certificate' });
  });

  const stored = draftOf(objectWith('Certificate'));
  const ca = { ca: samples.Certificate.chain };
  test.each<[string, unknown, DraftObject | undefined, unknown]>([
    ['left out, and stored', open, stored, samples.Certificate],
    ['given', { ...open, key: `${key}\n` }, stored, { ...open, key: `${key}\n` }],
    ['left out, and never stored', open, undefined, open],
    ['of no use to a CA', ca, stored, ca],
    ['of another kind', open, draftOf(objectWith('Fleet')), open],
  ])('a key that is %s', (_, spec, before, want) => {
    expect(keepSecrets(draftOf(objectWith('Certificate', spec)), before).spec).toEqual(want);
  });
});

describe('equality of specs', () => {
  test.each<[string, unknown, unknown, boolean]>([
    ['order of keys', { a: 1, b: { c: [1, { d: 2, e: 3 }] } }, { b: { c: [1, { e: 3, d: 2 }] }, a: 1 }, true],
    ['order of items', [1, 2], [2, 1], false],
    ['undefined is absent', { a: undefined, b: 1 }, { b: 1 }, true],
    ['null is not absent', { a: null }, {}, false],
    ['another key of the same count', { a: 1 }, { b: 1 }, false],
    ['a key more', { a: 1 }, { a: 1, b: 2 }, false],
    ['a number and a text', 1, '1', false],
    ['a list and an object', [], {}, false],
    ['null and an object', null, {}, false],
    ['zero and minus zero', 0, -0, true],
  ])('%s', (_, a, b, want) => {
    expect(sameSpec(a, b)).toBe(want);
    expect(sameSpec(b, a)).toBe(want);
  });
});

describe('values that hold where a field is left out', () => {
  test.each<[string, unknown, unknown]>([
    [
      'member',
      effectiveMember({ address: 'a', port: 1 }),
      { address: 'a', port: 1, weight: 1, priority: 0, enabled: true, drain: false },
    ],
    [
      'pool',
      effectiveBackendPool({}),
      {
        algorithm: 'roundRobin',
        protocol: 'http1',
        connectTimeoutMs: 5000,
        drainTimeoutMs: 60_000,
        slowStartMs: undefined,
      },
    ],
    [
      'check',
      effectiveHealthCheck({ type: 'HTTP' }),
      {
        type: 'HTTP',
        path: '/',
        host: undefined,
        expect: [{ first: 200, last: 299 }],
        service: undefined,
        intervalMs: 5000,
        timeoutMs: 3000,
        rise: 2,
        fall: 3,
      },
    ],
    [
      'outliers',
      effectiveOutlierDetection({}),
      { consecutive5xx: 5, intervalMs: 10_000, baseEjectionMs: 30_000, maxEjectionPercent: 50 },
    ],
    [
      'service',
      effectiveVirtualService({ listeners: [] }),
      { enabled: true, policyFailMode: 'deny', drainTimeoutMs: 30_000 },
    ],
    ['listener', listenerIdleTimeoutMs({ name: 'a', port: 1, protocol: 'HTTP' }), 3_600_000],
    ['action', actionTimeouts({}), { timeoutMs: 0, idleTimeoutMs: 3_600_000 }],
    [
      'retry',
      effectiveRetry({ on: ['5xx'] }),
      { on: ['5xx'], attempts: 1, perTryMs: undefined, backoffBaseMs: 25, backoffMaxMs: 250 },
    ],
    ['fleet', fleetDrainTimeoutMs({}), 60_000],
  ])('%s', (_, value, want) => {
    expect(value).toEqual(want);
  });

  test('what is written holds instead', () => {
    expect(effectiveHealthCheck(samples.BackendPool.healthChecks[0]).expect).toEqual([
      { first: 200, last: 299 },
      { first: 304, last: 304 },
      { first: 401, last: 401 },
    ]);
    expect(effectiveBackendPool({ slowStart: '30s', algorithm: 'leastRequest' })).toMatchObject({
      slowStartMs: 30_000,
      algorithm: 'leastRequest',
    });
    expect(effectiveRetry({ on: ['5xx'], backoff: { base: '100ms' } })).toMatchObject({ backoffMaxMs: 1000 });
  });
});
