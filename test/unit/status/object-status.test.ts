import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Verdict } from '../../../src/graph/index.ts';
import { type DraftObject, type FairwayObject, type Kind, kindInfo, kindNames } from '../../../src/model/index.ts';
import { inspectOnce } from '../../../src/status/certificate.ts';
import { type Delivery, draftsOf, type NodeStatus, type StatusSources, statusOf } from '../../../src/status/index.ts';
import { draft, fleet, pool, route, service } from '../../support/drafts.ts';
import { keyOf } from '../../support/world.ts';

const now = Date.parse('2030-01-01T00:00:00Z');
const day = 86_400_000;

const accepted: Verdict = { type: 'Accepted', status: 'True', reason: 'Accepted', message: '' };
const resolved: Verdict = { type: 'ResolvedRefs', status: 'True', reason: 'ResolvedRefs', message: '' };

function sources(rest: Partial<StatusSources> = {}): StatusSources {
  return {
    verdicts: () => ({ conditions: [accepted, resolved] }),
    failure: () => undefined,
    deliveries: () => [],
    held: () => undefined,
    transitions: () => [],
    draining: () => [],
    referrers: () => [],
    node: () => undefined,
    nodeCertificate: () => undefined,
    fleetExists: () => true,
    fleetProxies: () => [],
    ...rest,
  };
}

function stored(object: DraftObject, generation = 1): FairwayObject {
  const metadata = {
    ...object.metadata,
    uid: 'u1',
    generation,
    revision: '9',
    createdRevision: '9',
    createdAt: '2029-01-01T00:00:00Z',
  };
  return { ...object, metadata } as FairwayObject;
}

function told(object: DraftObject, rest: Partial<StatusSources> = {}, at = now) {
  const { drafts, fields } = draftsOf(keyOf(object), stored(object), sources(rest), at);
  const conditions = Object.fromEntries(drafts.map((one) => [one.type, one]));
  return { conditions, fields, types: drafts.map(({ type }) => type) };
}

const has: Delivery = { node: 'a', state: 'acked', counts: true };
const waits: Delivery = { node: 'b', state: 'pending', counts: true };
const node = draft('Node', 'a', {});
const scope = draft('Scope', 'team', {});

const read = (name: string) => readFileSync(new URL(`../../support/certificates/${name}.pem`, import.meta.url), 'utf8');
const pair = { chain: read('p256') + read('intermediate'), key: read('p256.key') };
const certificate = draft('Certificate', 'shop-tls', pair);

test.each<[Kind, DraftObject, types: string[]]>([
  ['Scope', scope, ['Accepted']],
  ['Fleet', fleet('edge'), ['Accepted', 'Programmed']],
  ['Node', node, ['Accepted', 'Connected']],
  ['Certificate', certificate, ['Accepted', 'Programmed']],
  ['BackendPool', pool('p'), ['Accepted', 'ResolvedRefs', 'Programmed']],
  ['VirtualService', service('shop'), ['Accepted', 'ResolvedRefs', 'Programmed']],
  ['Route', route('r', 'shop'), ['Accepted', 'ResolvedRefs', 'Programmed']],
])('a %s has its conditions', (kind, object, types) => {
  expect(object.kind).toBe(kind);
  expect(told(object).types.sort()).toEqual(types.sort());
});

describe('why an object became no resource', () => {
  const lost: Verdict = { ...accepted, status: 'False', reason: 'ListenerConflict', message: 'taken' };
  const unresolved: Verdict = { ...resolved, status: 'False', reason: 'ReferenceMissing', message: 'absent' };
  const disabled: Verdict = { ...accepted, reason: 'Disabled', message: 'off' };

  test.each<[string, DraftObject, Verdict[], status: string, reason: string, words: string]>([
    ['a pool nobody uses', pool('p'), [accepted, resolved], 'Unknown', 'NotReferenced', 'uses it'],
    ['a broken pool nobody uses', pool('p'), [accepted, unresolved], 'Unknown', 'NotReferenced', 'uses it'],
    ['a certificate nobody uses', certificate, [accepted, resolved], 'Unknown', 'NotReferenced', 'uses it'],
    ['a service in conflict', service('s'), [lost, resolved], 'False', 'NotAccepted', 'see Accepted'],
    [
      'a service without its certificate',
      service('s'),
      [accepted, unresolved],
      'False',
      'NotAccepted',
      'see ResolvedRefs',
    ],
    ['a disabled service', service('s'), [disabled, unresolved], 'False', 'Disabled', 'disabled'],
    ['a withheld service', service('s'), [accepted, resolved], 'False', 'NotAccepted', 'nothing of it'],
    [
      'a Route of a service that is not served',
      route('r', 's'),
      [accepted, resolved],
      'False',
      'NotAccepted',
      'attached',
    ],
    ['a Route in conflict', route('r', 's'), [lost, resolved], 'False', 'NotAccepted', 'see Accepted'],
  ])('%s', (_, object, conditions, status, reason, words) => {
    const { Programmed } = told(object, { verdicts: () => ({ conditions }) }).conditions;
    expect(Programmed).toMatchObject({ status, reason, message: expect.stringContaining(words) });
  });

  test('and one that did is judged by what proxies have, whatever its other conditions', () => {
    const verdicts = () => ({ conditions: [lost, unresolved] });
    const { Programmed } = told(service('s'), { verdicts, deliveries: () => [[has]] }).conditions;
    expect(Programmed).toMatchObject({ status: 'True' });
  });
});

test('a bug is told on its object, and what is served of it goes on', () => {
  const failure = () => new Error('deriving listeners of VirtualService/default/s failed');
  const { conditions, types } = told(service('s'), { failure, verdicts: () => undefined });
  expect(conditions['Accepted']).toMatchObject({ status: 'False', reason: 'InternalError' });
  expect(conditions['Accepted']?.message).toContain('please report this; other objects are not affected');
  expect(conditions['Programmed']).toMatchObject({ status: 'False', reason: 'NotAccepted' });
  expect(types).toEqual(['Accepted', 'Programmed']);
});

describe('a refusal', () => {
  const evidence = {
    hash: 'h',
    words: 'bad timeout',
    versions: ['envoy 1.40.0'],
    nodes: ['a'],
    nodeCount: 1,
    first: '2029-01-01T00:00:00Z',
    last: '2029-01-01T00:00:00Z',
  };

  test('is told of the object as it stands', () => {
    const asked: unknown[] = [];
    const { Programmed } = told(pool('p'), {
      held: (key, { uid, generation }) => {
        asked.push([key, uid, generation]);
        return { verdict: 'guilty', among: 0, evidence, good: null };
      },
    }).conditions;
    expect(asked).toEqual([['BackendPool/default/p', 'u1', 1]]);
    expect(Programmed).toMatchObject({
      reason: 'RejectedByProxy',
      message: expect.stringContaining('bad timeout'),
    });
  });

  test('is no matter where there is none', () => {
    expect(told(pool('p')).conditions['Programmed']?.reason).toBe('NotReferenced');
  });
});

describe('a Node', () => {
  const record = { nodeId: 'a', fleet: 'edge', version: '1.40.0', connected: true, since: '2029-12-01T00:00:00Z' };
  const live: NodeStatus = { record, connected: true, types: [], delivery: { ...has, counts: true } };
  const conditionsOf = (status: NodeStatus | undefined, rest: Partial<StatusSources> = {}) =>
    told(node, { node: () => status, ...rest });

  test('that never connected', () => {
    const { conditions, fields } = conditionsOf(undefined);
    expect(conditions['Connected']).toMatchObject({
      status: 'False',
      message: expect.stringContaining('has ever connected'),
    });
    expect(fields).toEqual({ phase: 'Disconnected' });
  });

  test('that is connected and in step', () => {
    const { conditions, fields } = conditionsOf(live);
    expect(conditions).toMatchObject({
      Accepted: { status: 'True' },
      Connected: { status: 'True' },
      Programmed: { status: 'True' },
    });
    expect(fields).toEqual({
      phase: 'Connected',
      nodeId: 'a',
      fleet: 'edge',
      envoy: { version: '1.40.0', connected: true, since: record.since, types: [] },
    });
  });

  test('that is a member tells of its certificate', () => {
    const certificate = { serial: '0a', issuedAt: '2029-12-01T00:00:00Z', notAfter: '2029-12-02T00:00:00Z' };
    const nodeCertificate = (_name: string, uid: string) => (uid === 'u1' ? certificate : undefined);
    expect(conditionsOf(live, { nodeCertificate }).fields).toMatchObject({ certificate });
    // It joined, and has not come yet.
    expect(conditionsOf(undefined, { nodeCertificate }).fields).toEqual({ phase: 'Disconnected', certificate });
  });

  test('that is connected and being filled', () => {
    const filling = { ...live, delivery: { ...has, state: 'pending', counts: false } } as const;
    expect(conditionsOf(filling).conditions['Programmed']).toMatchObject({ status: 'False', reason: 'Pending' });
  });

  test.each([
    [undefined, /^at 2029-12-01T00:00:00.000Z it had still not answered for Cluster default\/web/],
    [
      { type: 'a.Cluster', name: 'default/web' },
      /RouteConfiguration.* was sent although Cluster default\/web was not ready/,
    ],
  ])('that is late: %o', (missing, message) => {
    const type = missing === undefined ? 'a.Cluster' : 'a.RouteConfiguration';
    const stall = { type, names: ['default/web'], missing, at: Date.parse('2029-12-01T00:00:00Z') };
    const late = { ...live, stall, delivery: { ...has, state: 'pending' } } as const;
    expect(conditionsOf(late).conditions['Programmed']).toMatchObject({
      status: 'False',
      reason: 'Stalled',
      message: expect.stringMatching(message),
    });
    expect(conditionsOf({ ...live, stall }).conditions['Programmed']).toMatchObject({ status: 'True' });
  });

  test('that refuses something', () => {
    const refusing = { ...live, delivery: { ...has, state: 'rejected', words: 'no such thing' } } as const;
    const { Programmed } = conditionsOf(refusing).conditions;
    expect(Programmed).toMatchObject({ reason: 'RejectedByProxy', message: expect.stringContaining('no such thing') });
  });

  test('that is gone says since when; in the moment before that is recorded it does not', () => {
    const gone = { ...live, connected: false, delivery: undefined };
    const recorded = { ...gone, record: { ...record, connected: false } };
    expect(conditionsOf(recorded).conditions['Connected']?.message).toContain(`since ${record.since}`);
    expect(conditionsOf(gone).conditions['Connected']?.message).not.toContain('since');
    expect(conditionsOf(gone).conditions['Programmed']).toMatchObject({ status: 'Unknown', reason: 'NoProxies' });
    expect(conditionsOf(gone).fields).toMatchObject({ phase: 'Disconnected', envoy: { connected: false } });
  });

  test.each([
    ['edge', 'names Fleet edge, which does not exist'],
    ['', 'names no fleet'],
  ])('of the fleet "%s" that is not there says so', (name, words) => {
    const status = { ...live, record: { ...record, fleet: name } };
    const { Accepted } = conditionsOf(status, { fleetExists: () => false }).conditions;
    expect(Accepted).toMatchObject({
      status: 'False',
      reason: 'FleetMissing',
      message: expect.stringContaining(words),
    });
  });
});

test.each<[string, Delivery[], status: string, reason: string]>([
  ['no proxy', [], 'Unknown', 'NoProxies'],
  ['all in step', [has, { ...has, node: 'b' }], 'True', 'Programmed'],
  ['one behind', [has, waits], 'False', 'Pending'],
  ['one that is being filled', [has, { ...waits, counts: false }], 'True', 'Programmed'],
])('a Fleet with %s', (_, proxies, status, reason) => {
  const { conditions, fields } = told(fleet('edge'), { fleetProxies: () => proxies });
  expect(conditions['Programmed']).toMatchObject({ status, reason });
  expect(fields).toMatchObject({ realization: { desired: proxies.length } });
});

describe('a Certificate', () => {
  const { notAfter } = told(certificate).fields as { notAfter: string };
  const end = Date.parse(notAfter);

  test('shows its facts and nothing of its key', () => {
    const { fields } = told(certificate, { referrers: () => ['VirtualService/default/shop'] });
    expect(fields).toMatchObject({ expiring: false, usedBy: ['VirtualService/default/shop'] });
    expect(Object.keys(fields).sort()).toEqual(
      ['daysLeft', 'expiring', 'fingerprint', 'notAfter', 'realization', 'subject', 'subjectAltNames', 'usedBy'].sort(),
    );
    expect(JSON.stringify(fields)).not.toContain('PRIVATE');
  });

  test.each<[string, leftMs: number, daysLeft: number, expiring: boolean]>([
    ['31 days before its end', 31 * day, 31, false],
    ['30 days before', 30 * day, 30, false],
    ['a moment later', 30 * day - 1, 29, true],
    ['in its last hours', day / 2, 0, true],
  ])('%s', (_, leftMs, daysLeft, expiring) => {
    expect(told(certificate, {}, end - leftMs).fields).toMatchObject({ daysLeft, expiring });
  });

  test('is not accepted after its end, while proxies still have it', () => {
    const { conditions } = told(certificate, { deliveries: () => [[has]] }, end);
    expect(conditions['Accepted']).toMatchObject({ status: 'False', reason: 'Expired' });
    expect(conditions['Accepted']?.message).toContain('/spec/chain');
    expect(conditions['Programmed']).toMatchObject({ status: 'True' });
  });

  test('is read once, and again when time changes the answer', () => {
    const spec = { ...pair };
    const first = inspectOnce(spec, now);
    expect(first.ok).toBe(true);
    expect(inspectOnce(spec, now + day)).toBe(first);
    expect(inspectOnce(spec, end - 1)).toBe(first);
    const expired = inspectOnce(spec, end);
    expect(expired.ok).toBe(false);
    expect(inspectOnce(spec, end + 59_000)).toBe(expired);
    expect(inspectOnce(spec, end + 61_000)).not.toBe(expired);
    // The clock was set back.
    expect(inspectOnce(spec, now).ok).toBe(true);
    expect(inspectOnce({ ...pair }, now)).not.toBe(first);
  });
});

test('the times of conditions are those of the stored transitions', () => {
  const object = stored(pool('p'), 4);
  const since = '2029-06-01T00:00:00.000Z';
  const status = statusOf(
    'BackendPool/default/p',
    object,
    sources({
      transitions: () => [
        { type: 'Accepted', status: 'True', reason: 'Accepted', since },
        { type: 'Programmed', status: 'True', reason: 'Programmed', since },
      ],
    }),
    now,
  );
  expect(status.observedGeneration).toBe(4);
  const times = Object.fromEntries(status.conditions.map((one) => [one.type, one.lastTransitionTime]));
  expect(times).toEqual({
    Accepted: since,
    ResolvedRefs: new Date(now).toISOString(),
    Programmed: new Date(now).toISOString(),
  });
});

describe('whatever is seen', () => {
  const objects: { readonly [K in Kind]: DraftObject } = {
    Scope: scope,
    RoleBinding: draft('RoleBinding', 'all', { subjects: [{ user: 'ada' }], role: 'viewer', scopes: ['*'] }),
    Fleet: fleet('edge'),
    Node: node,
    Certificate: certificate,
    BackendPool: pool('p'),
    VirtualService: service('s'),
    Route: route('r', 's'),
  };
  const delivery = fc.record({
    node: fc.constantFrom('a', 'b', 'c'),
    state: fc.constantFrom('acked' as const, 'pending' as const, 'rejected' as const, 'unwanted' as const),
    words: fc.constant('no'),
    counts: fc.boolean(),
    lost: fc.boolean(),
  });
  const verdicts = fc.option(
    fc.constantFrom(
      [accepted, resolved],
      [{ ...accepted, reason: 'Disabled', message: 'off' }, resolved],
      [{ ...accepted, status: 'False' as const, reason: 'HostConflict', message: 'taken' }, resolved],
    ),
    { nil: undefined },
  );

  test('each reason is one of the kind’s closed list, and each type too', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...kindNames),
        fc.array(fc.array(delivery, { maxLength: 4 }), { maxLength: 3 }),
        verdicts,
        fc.boolean(),
        fc.boolean(),
        (kind, deliveries, conditions, fails, exists) => {
          // What the graph may find depends on the kind.
          const found = kind === 'VirtualService' ? conditions : [accepted, resolved];
          const { conditions: drafts } = told(objects[kind], {
            ...(found === undefined ? {} : { verdicts: () => ({ conditions: found }) }),
            ...(fails ? { failure: () => new Error('a bug') } : {}),
            deliveries: () => deliveries,
            fleetProxies: () => deliveries.flat(),
            fleetExists: () => exists,
          });
          for (const { type, reason, status, message } of Object.values(drafts)) {
            expect(kindInfo(kind).reasons[type], `${kind} ${type}`).toContain(reason);
            if (status !== 'True') expect(message).not.toBe('');
          }
        },
      ),
    );
  });
});
