import { describe, expect, it, test } from 'vitest';
import type { Drain } from '../../../src/graph/index.ts';
import type { BackendPoolObject, Member } from '../../../src/model/index.ts';
import {
  type DrainRecord,
  drainAfterEdit,
  drainAfterRecord,
  drainDeadline,
  settleDrain,
} from '../../../src/plan/index.ts';

/** Members are named by their port. */
const member = (port: number, more: Partial<Member> = {}): Member => ({ address: '10.0.0.1', port, ...more });

function pool(generation: number, members: readonly Member[], drainTimeout = '60s', uid = 'u'): BackendPoolObject {
  return {
    apiVersion: 'fairway/v1',
    kind: 'BackendPool',
    metadata: {
      name: 'p',
      scope: 'default',
      labels: {},
      annotations: {},
      uid,
      generation,
      revision: '1',
      createdRevision: '1',
      createdAt: '2026-01-01T00:00:00Z',
    },
    spec: { members, drainTimeout },
  };
}

/** `{ 1: 5 }`: the member at port 1 drains since generation 5. */
function drain(since: Readonly<Record<number, number>>): Drain {
  return {
    members: Object.entries(since).map(([port, generation]) => ({
      address: '10.0.0.1',
      port: Number(port),
      generation,
    })),
  };
}

const time = (seconds: number): string => new Date(seconds * 1000).toISOString();

/** `{ 1: 90 }`: the member at port 1 drains until second 90. */
function record(generation: number, until: Readonly<Record<number, number>>, uid = 'u'): DrainRecord {
  const members = Object.entries(until).map(([port, at]) => ({
    address: '10.0.0.1',
    port: Number(port),
    until: time(at),
  }));
  return { uid, generation, members };
}

type Pool = BackendPoolObject;
type Edit = [name: string, drain: Drain | undefined, before: Pool | undefined, after: Pool, want: Drain | undefined];

describe('an edit', () => {
  const both = pool(1, [member(1), member(2)]);
  const second = pool(2, [member(2)]);
  const off = member(1, { enabled: false });
  test.each<Edit>([
    ['that makes the pool', undefined, undefined, both, undefined],
    ['that leaves a member out', undefined, both, second, drain({ 1: 2 })],
    ['that leaves all out', undefined, both, pool(2, []), drain({ 1: 2, 2: 2 })],
    ['that disables a member', undefined, both, pool(2, [off, member(2)]), drain({ 1: 2 })],
    ['that takes its weight', undefined, both, pool(2, [member(1), member(2, { weight: 0 })]), drain({ 2: 2 })],
    ['that changes a weight', undefined, both, pool(2, [member(1, { weight: 7 }), member(2)]), undefined],
    ['that drops a disabled member', undefined, pool(1, [off]), pool(2, []), undefined],
    [
      'that writes an address in another way',
      undefined,
      pool(1, [{ address: '2001:db8::1', port: 1 }]),
      pool(2, [{ address: '2001:DB8:0::1', port: 1 }]),
      undefined,
    ],
    ['after another one', drain({ 1: 2 }), second, pool(3, []), drain({ 1: 2, 2: 3 })],
    ['that brings a member back', drain({ 1: 2 }), second, pool(3, [member(1), member(2)]), undefined],
    ['that brings it back disabled', drain({ 1: 2 }), second, pool(3, [off, member(2)]), drain({ 1: 2 })],
    ['that says at once', undefined, both, pool(2, [member(2)], '0s'), undefined],
    ['that says at once while some drain', drain({ 1: 2 }), second, pool(3, [member(2)], '0s'), undefined],
    ['that is a new pool of the same name', drain({ 1: 2 }), second, pool(1, [], '60s', 'other'), undefined],
  ])('%s', (_, present, before, after, want) => {
    expect(drainAfterEdit(present, before, after)).toEqual(want);
  });

  it('keeps those that left last, when too many drain', () => {
    const many = Array.from({ length: 2048 }, (_, at) => member(at + 1));
    const two = pool(2, [member(5000), member(5001)]);
    const first = drainAfterEdit(undefined, pool(1, many), two);
    const then = drainAfterEdit(first, two, pool(3, []));
    expect(then?.members).toHaveLength(2048);
    expect(then?.members.at(0)?.port).toBe(3);
    expect(then?.members.at(-1)?.port).toBe(5001);
  });
});

type Decided = DrainRecord | undefined;

describe('the record of the leader', () => {
  test.each<[name: string, drain: Drain | undefined, former: Decided, record: Decided, want: Drain | undefined]>([
    ['that says the same', drain({ 1: 2 }), undefined, record(2, { 1: 90 }), drain({ 1: 2 })],
    ['read at the start', undefined, undefined, record(2, { 1: 90 }), drain({ 1: 2 })],
    [
      'that does not know of a later edit',
      drain({ 1: 2, 2: 3 }),
      undefined,
      record(2, { 1: 9 }),
      drain({ 1: 2, 2: 3 }),
    ],
    ['that takes one away', drain({ 1: 2, 2: 3 }), record(3, { 1: 9, 2: 95 }), record(3, { 2: 95 }), drain({ 2: 3 })],
    ['that is gone', drain({ 1: 2 }), record(2, { 1: 90 }), undefined, undefined],
    [
      'that is gone, with no word of a later edit',
      drain({ 1: 2, 2: 3 }),
      record(2, { 1: 9 }),
      undefined,
      drain({ 2: 3 }),
    ],
  ])('%s', (_, present, former, written, want) => {
    expect(drainAfterRecord(present, former, written)).toEqual(want);
  });
});

describe('the leader', () => {
  const now = 1000;
  const present = pool(3, [member(9)]);
  const slow = pool(3, [], '5m');
  test.each<[name: string, pool: Pool | undefined, drain: Drain | undefined, record: Decided, want: Decided]>([
    ['gives the time of the pool', present, drain({ 1: 3 }), undefined, record(3, { 1: 1060 })],
    ['lets the time that was given stand', slow, drain({ 1: 2 }), record(2, { 1: 1030 }), record(2, { 1: 1030 })],
    [
      'gives it to who left since',
      present,
      drain({ 1: 2, 2: 3 }),
      record(2, { 1: 1030 }),
      record(3, { 1: 1030, 2: 1060 }),
    ],
    ['gives it anew to who left again', present, drain({ 1: 3 }), record(2, { 1: 1030 }), record(3, { 1: 1060 })],
    [
      'takes away whose time is over',
      present,
      drain({ 1: 2, 2: 2 }),
      record(2, { 1: 1000, 2: 1001 }),
      record(3, { 2: 1001 }),
    ],
    ['ends the record with its last member', present, drain({ 1: 2 }), record(2, { 1: 999 }), undefined],
    ['ends it when the members are back', present, undefined, record(2, { 1: 1030 }), undefined],
    ['ends it with the pool', undefined, undefined, record(2, { 1: 1030 }), undefined],
    [
      'takes no record of a former pool',
      present,
      drain({ 1: 3 }),
      record(9, { 1: 1001 }, 'other'),
      record(3, { 1: 1060 }),
    ],
  ])('%s', (_, object, draining, written, want) => {
    expect(settleDrain(object, draining, written, now * 1000)).toEqual(want);
  });

  it('changes nothing that stands', () => {
    const standing = record(3, { 1: 1030 });
    expect(settleDrain(present, drain({ 1: 3 }), standing, now * 1000)).toBe(standing);
  });

  it('wakes when the first one is due', () => {
    expect(drainDeadline(record(3, { 1: 1030, 2: 1010 }))).toBe(1_010_000);
  });
});
