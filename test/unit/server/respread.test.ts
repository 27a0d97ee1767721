import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ControllerInfo } from '../../../src/api/index.ts';
import { createRespread, type Respread } from '../../../src/server/respread.ts';
import type { StreamStatus } from '../../../src/xds/index.ts';

// The controller `a` with 60 proxies beside `b`, which has none.

let now: number;
let streams: StreamStatus[];
let ended: string[];
let respread: Respread;
let others: Map<string, Partial<ControllerInfo>>;
let heard: Map<string, number>;
let behind: Set<string>;

const stream = (n: number, openedAt: number) =>
  ({ streamId: `s${n}`, node: { id: `lb-${n}`, cluster: 'edge' }, openedAt }) as StreamStatus;

beforeEach(() => {
  now = 1_000_000;
  streams = Array.from({ length: 60 }, (_, n) => stream(n, n));
  ended = [];
  others = new Map([['b', {}]]);
  heard = new Map();
  behind = new Set();
  respread = create();
});
afterEach(() => respread.close());

function create(): Respread {
  const info = (id: string, proxies: number, more: Partial<ControllerInfo> = {}) =>
    ({ id, state: 'Ready', startedAt: '', xdsAddress: `${id}:7601`, lag: 0, proxies, ...more }) as ControllerInfo;
  return createRespread({
    config: { respreadAfter: '60s' },
    self: 'a',
    cluster: {
      controllers: {
        list: () => [info('a', streams.length), ...[...others].map(([id, more]) => info(id, 0, more))],
        heardAt: (id) => heard.get(id) ?? now,
      },
    },
    deliveries: { streams: () => streams, isInStep: ({ streamId }) => !behind.has(streamId) },
    door: {
      sendElsewhere(id) {
        ended.push(id);
        streams = streams.filter(({ streamId }) => streamId !== id);
      },
    },
    now: () => now,
    steadyNow: () => now,
    log: { info: () => undefined },
  });
}

/** Streams ended by a look, some time after the last one. */
function look(afterMs = 0): string[] {
  now += afterMs;
  ended = [];
  respread.look();
  return ended;
}

const minute = 60_000;

describe('streams are ended', () => {
  test('some at a time, the oldest first, once the controllers have been the same for a while', () => {
    expect(look()).toEqual([]);
    expect(look(minute - 1)).toEqual([]);
    expect(look(1)).toEqual(Array.from({ length: 10 }, (_, n) => `s${n}`));
  });

  test('no further ones before all were heard of anew', () => {
    look();
    look(minute);
    heard.set('b', now);
    expect(look(5_000)).toEqual([]);
    heard.delete('b');
    expect(look()).toHaveLength(10);
  });

  test.each<[string, Partial<ControllerInfo>]>([
    ['is unreachable', { state: 'Unreachable' }],
    ['lags', { lag: 101 }],
  ])('none while another %s', (_, more) => {
    others.set('b', more);
    look();
    expect(look(minute)).toEqual([]);
  });

  test('none after another has come, until it has been there for a while', () => {
    look();
    others.set('c', {});
    expect(look(minute)).toEqual([]);
    expect(look(minute)).toHaveLength(10);
  });

  test('none of proxies that have come just now, or do not have all yet', () => {
    streams = streams.map((one, n) => (n < 58 ? stream(n, now + 1) : one));
    behind.add('s59');
    look();
    expect(look(minute)).toEqual(['s58']);
  });
});

test('proxies that always come back are asked less and less often', () => {
  look();
  const looks: number[] = [];
  for (let round = 0; round < 400; round += 1) {
    const gone = look(minute);
    looks.push(gone.length);
    // They know no other controller.
    streams = [...streams, ...gone.map((id) => stream(Number(id.slice(1)), now))];
  }
  const endedIn = (from: number, to: number) => looks.slice(from, to).reduce((sum, count) => sum + count, 0);
  expect(endedIn(0, 50)).toBeGreaterThan(60);
  expect(endedIn(350, 400)).toBeLessThan(30);
  expect(streams).toHaveLength(60);
});
