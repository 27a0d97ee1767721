import { describe, expect, test } from 'vitest';
import { type Delivery, type HeldBack, programmed } from '../../../src/status/index.ts';

type Input = Parameters<typeof programmed>[0];

const nothing: Input['nothing'] = { reason: 'NotReferenced', message: 'nobody uses it', status: 'Unknown' };

function judge(rest: Partial<Input>) {
  return programmed({ generation: 3, deliveries: [], held: undefined, nothing, ...rest });
}

/** `a:acked`, `a:pending?` where it does not count, `a:pending!` where it is lost. */
function deliveriesOf(text: string): Delivery[] {
  return text
    .split(' ')
    .filter((word) => word !== '')
    .map((word) => {
      const [, node = '', state = '', mark] = /^(\w+):(\w+)([?!]*)$/.exec(word) ?? [];
      return {
        node,
        state: state as Delivery['state'],
        counts: mark?.includes('?') !== true,
        ...(mark?.includes('!') === true ? { lost: true } : {}),
        ...(state === 'rejected' ? { words: `${node} says no` } : {}),
      };
    });
}

describe('Programmed', () => {
  test.each<[string, resources: string[], status: string, reason: string, message: string]>([
    ['it became nothing', [], 'Unknown', 'NotReferenced', 'nobody uses it'],
    ['no proxy', [''], 'Unknown', 'NoProxies', 'no proxy of the fleet is connected: it is served as soon as one is'],
    ['no proxy for any of several', ['', ''], 'Unknown', 'NoProxies', 'no proxy of the fleet'],
    ['one has it', ['a:acked'], 'True', 'Programmed', ''],
    ['one waits', ['a:pending'], 'False', 'Pending', '0 of 1 proxies have it; waiting for a'],
    ['one of two', ['a:acked b:pending'], 'False', 'Pending', '1 of 2 proxies have it; waiting for b'],
    ['one resource of two', ['a:acked', 'a:pending'], 'False', 'Pending', '0 of 1 proxies have it; waiting for a'],
    [
      'each waits for another resource',
      ['a:acked b:pending', 'a:pending b:acked'],
      'False',
      'Pending',
      '0 of 2 proxies have it; waiting for a, b',
    ],
    [
      'many wait',
      ['a:pending b:pending c:pending d:pending e:pending'],
      'False',
      'Pending',
      'waiting for a, b, c and 2 more',
    ],
    ['what it does not want is not waited for', ['a:acked', 'a:unwanted'], 'True', 'Programmed', ''],
    ['it wants nothing of it', ['a:unwanted'], 'True', 'Programmed', ''],
    ['a lost one had it', ['a:acked b:acked!'], 'True', 'Programmed', ''],
    ['a lost one had it not', ['a:acked b:pending!'], 'False', 'Pending', 'waiting for b, 1 of them unreachable'],
    ['one refuses it', ['a:rejected b:acked'], 'False', 'RejectedByProxy', 'proxy a refused it: a says no'],
    [
      'two refuse it',
      ['a:rejected b:rejected c:pending'],
      'False',
      'RejectedByProxy',
      '2 proxies (a, b) refused it: a says no',
    ],
    [
      'a refusal outweighs waiting for another resource',
      ['a:rejected', 'a:pending'],
      'False',
      'RejectedByProxy',
      'a says no',
    ],
    ['one that does not count refuses it', ['a:acked b:rejected?'], 'False', 'RejectedByProxy', 'proxy b refused it'],
  ])('%s', (_, resources, status, reason, message) => {
    const { condition } = judge({ deliveries: resources.map(deliveriesOf) });
    expect(condition).toMatchObject({ type: 'Programmed', status, reason });
    expect(condition.message).toContain(message);
    expect(condition.message === '').toBe(message === '');
  });

  describe('and a proxy that is being filled for the first time', () => {
    test.each<[string, resources: string[], status: string, reason: string]>([
      ['does not turn green ones red', ['a:acked b:pending?'], 'True', 'Programmed'],
      ['is waited for when it is the only one', ['b:pending?'], 'False', 'Pending'],
      ['makes it true when it is the only one', ['b:acked?'], 'True', 'Programmed'],
      ['counts for what changed since it came', ['a:acked b:pending', 'a:acked b:pending?'], 'False', 'Pending'],
      ['counts for nothing else', ['a:acked b:acked', 'a:acked b:pending?'], 'True', 'Programmed'],
      ['counts alone for what changed since', ['b:acked', 'b:pending?'], 'True', 'Programmed'],
      ['does not turn it red by breaking off', ['a:acked b:pending?!'], 'True', 'Programmed'],
    ])('%s', (_, resources, status, reason) => {
      expect(judge({ deliveries: resources.map(deliveriesOf) }).condition).toMatchObject({ status, reason });
    });
  });

  test('no proxy of a disabled object, or of one that is not accepted, is waited for', () => {
    const disabled = { reason: 'Disabled', message: 'it is disabled', status: 'False' } as const;
    expect(judge({ nothing: disabled }).condition).toEqual({ type: 'Programmed', ...disabled });
  });
});

describe('a refusal that was decided upon', () => {
  const evidence: HeldBack['evidence'] = {
    hash: 'h',
    words: 'Invalid duration',
    versions: ['envoy 1.40.0'],
    nodes: ['a'],
    nodeCount: 1,
    first: '2026-01-01T00:00:00.000Z',
    last: '2026-01-01T00:00:00.000Z',
  };
  const guilty: HeldBack = { verdict: 'guilty', among: 0, evidence, good: 2 };
  const nodes = Array.from({ length: 10 }, (_, n) => `n${n}`);

  test.each<[string, Partial<HeldBack['evidence']>, Partial<HeldBack>, words: string[]]>([
    [
      'once',
      {},
      {},
      [
        'proxy a running envoy 1.40.0 refused generation 3, at 2026-01-01T00:00:00.000Z: Invalid duration.',
        'Generation 2 goes on being served',
      ],
    ],
    [
      'again',
      { last: '2026-01-02T00:00:00.000Z' },
      {},
      ['first at 2026-01-01T00:00:00.000Z, last at 2026-01-02T00:00:00.000Z'],
    ],
    ['by two', { nodes: ['a', 'b'], nodeCount: 2 }, {}, ['2 proxies running envoy 1.40.0 (a, b) refused']],
    [
      'by more than have names in it',
      { nodes, nodeCount: 5000 },
      {},
      ['5000 proxies running envoy 1.40.0 (n0, n1, n2 and 4997 more) refused'],
    ],
    ['by several versions', { versions: ['envoy 1.39.1', 'envoy 1.40.0'] }, {}, ['envoy 1.39.1 and envoy 1.40.0']],
    ['of what never was good', {}, { good: null }, ['Nothing of it is served']],
  ])('%s', (_, said, rest, words) => {
    const held = { ...guilty, evidence: { ...evidence, ...said }, ...rest };
    const { condition } = judge({ held, deliveries: [deliveriesOf('a:acked')] });
    expect(condition).toMatchObject({ status: 'False', reason: 'RejectedByProxy' });
    for (const part of words) expect(condition.message).toContain(part);
  });

  test('is told when nobody is connected, and when nothing is left of the object', () => {
    for (const deliveries of [[], [[]]]) {
      expect(judge({ held: guilty, deliveries }).condition.reason).toBe('RejectedByProxy');
    }
  });

  test('one of several that may be at fault is pending, and says among how many', () => {
    const { condition } = judge({ held: { ...guilty, verdict: 'suspect', among: 17 }, deliveries: [] });
    expect(condition).toMatchObject({ status: 'False', reason: 'Pending' });
    expect(condition.message).toContain('refused changes of 17 objects together');
    expect(condition.message).toContain('Generation 2 goes on being served until it is found');
  });
});

describe('a refusal by single proxies', () => {
  const refused = (scope: Delivery['scope'], since?: string): Delivery[] => [
    {
      node: 'a',
      state: 'rejected',
      words: 'cannot bind',
      counts: true,
      scope,
      ...(since === undefined ? {} : { since }),
    } as Delivery,
    { node: 'b', state: 'acked', counts: true },
  ];

  test.each<[Delivery['scope'], string]>([
    ['host', 'This is a matter of that host alone'],
    ['local', 'Other proxies that run the same accepted it'],
    ['convicted', 'What proxies had before stays in force'],
  ])('%s', (scope, words) => {
    const { condition } = judge({ deliveries: [refused(scope, '2026-01-01T00:00:00.000Z')] });
    expect(condition).toMatchObject({ status: 'False', reason: 'RejectedByProxy' });
    expect(condition.message).toContain('proxy a refused it, since 2026-01-01T00:00:00.000Z: cannot bind.');
    expect(condition.message).toContain(words);
  });
});

describe('the realization', () => {
  test('counts every proxy, also those that do not count for the condition', () => {
    const deliveries = ['a:acked b:pending? c:rejected d:acked!', 'a:unwanted b:acked? c:acked'].map(deliveriesOf);
    expect(judge({ deliveries }).realization).toEqual({
      desired: 4,
      realized: 2,
      failed: [{ node: 'c', message: 'c says no' }],
      unreachable: ['d'],
    });
  });

  test('lists ten nodes at most', () => {
    const many = Array.from({ length: 30 }, (_, n) => `r${n}:rejected l${n}:pending!`).join(' ');
    const { realization, condition } = judge({ deliveries: [deliveriesOf(many)] });
    expect(realization.failed).toHaveLength(10);
    expect(realization.unreachable).toHaveLength(10);
    expect(realization).toMatchObject({ desired: 60, realized: 0 });
    expect(condition.message.length).toBeLessThan(200);
  });
});
