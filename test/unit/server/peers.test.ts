import { describe, expect, it } from 'vitest';
import { longAnswer } from '../../../src/api/long-answer.ts';
import type { BoundedBytes } from '../../../src/lib/bounded-answer.ts';
import { createControllerKey } from '../../../src/pki/index.ts';
import type { OwnProxies } from '../../../src/server/own-proxies.ts';
import { createPeerDoor } from '../../../src/server/peer-door.ts';
import { maxSkewMs, peerScheme } from '../../../src/server/peer-question.ts';
import type { PeerPost } from '../../../src/server/peer-request.ts';
import { createPeers } from '../../../src/server/peers.ts';
import type { ControllerRecord } from '../../../src/status/index.ts';

// One controller asks others by what they have told of themselves in the store.

const start = Date.UTC(2026, 5, 1);
const own: OwnProxies = {
  list: async () => [],
  config: async () => undefined,
  compare: (node) => (node === undefined ? 7 : 1),
  commit: () => undefined,
  clientStatus: async ({ only }) => (only === undefined ? ['AQ==', 'Ag=='] : null),
};

function recordOf(id: string, more: Partial<ControllerRecord> = {}): ControllerRecord {
  const time = new Date(start - 60_000).toISOString();
  return {
    id,
    run: `run-${id}`,
    address: `${id}:7600`,
    xdsAddress: `${id}:7601`,
    version: '1.0.0',
    roles: ['api', 'xds', 'control'],
    startedAt: time,
    seenAt: time,
    leading: null,
    revision: 1,
    lag: 0,
    proxies: 0,
    memoryBytes: 0,
    cpu: 0,
    ...more,
  };
}

function rig() {
  const keys = { a: createControllerKey(), b: createControllerKey() };
  const records = {
    controllers: new Map([
      ['a', recordOf('a', { key: keys.a.publicKey })],
      ['b', recordOf('b', { key: keys.b.publicKey })],
    ]),
  };
  const clock = { a: start, b: start };
  const alive = new Set(['a', 'b']);
  const door = createPeerDoor({ run: 'run-b', records, own, now: () => clock.b });
  const posts: PeerPost[] = [];
  const limits: number[] = [];
  const heard: string[] = [];
  let reply = async ({ authorization, body }: PeerPost, _signal: AbortSignal): Promise<BoundedBytes> => ({
    status: 200,
    chunks: [Buffer.from(JSON.stringify({ answer: await door.answer(authorization, body) }))],
  });
  const peers = createPeers({
    id: 'a',
    key: keys.a,
    records,
    isAlive: (id) => alive.has(id),
    now: () => clock.a,
    onHeard: (ask, outcome) => void heard.push(`${ask} ${outcome}`),
    post: (_peer, post, signal) => {
      posts.push(post);
      return reply(post, signal);
    },
    timeout(ms) {
      limits.push(ms);
      return AbortSignal.timeout(1);
    },
  });
  return {
    ...{ keys, records, clock, alive, door, posts, limits, heard, peers },
    answerWith: (next: typeof reply) => {
      reply = next;
    },
  };
}

const question = { ask: 'compare' } as const;
/** An answer, as it comes in pieces from a socket. */
function said(text: string): BoundedBytes {
  const bytes = Buffer.from(text);
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.byteLength; at += 1_000) chunks.push(bytes.subarray(at, at + 1_000));
  return { status: 200, chunks };
}

const never = (_post: PeerPost, signal: AbortSignal) =>
  new Promise<BoundedBytes>((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

describe('the door', () => {
  it('answers another controller', async () => {
    const { peers } = rig();
    expect(await peers.ask(question)).toEqual({ answers: [{ controller: 'b', answer: 7 }], unanswered: [] });
    expect(await peers.ask({ ask: 'commit', revision: 3 })).toMatchObject({ answers: [{ answer: null }] });
    const status = { ask: 'clientStatus', request: '', maxBytes: 9 } as const;
    expect(await peers.ask(status)).toMatchObject({ answers: [{ answer: ['AQ==', 'Ag=='] }] });
    expect(await peers.ask({ ...status, only: 'n1' })).toMatchObject({ answers: [{ answer: null }] });
  });

  it('answers those alone that are asked', async () => {
    const { peers, records, heard } = rig();
    records.controllers.set('c', recordOf('c'));
    expect(peers.others()).toEqual(['b', 'c']);
    expect(await peers.ask(question, ['b', 'gone'])).toMatchObject({ answers: [{ controller: 'b' }], unanswered: [] });
    expect(heard).toEqual(['compare answered']);
    expect(await peers.ask(question, ['c'])).toMatchObject({ answers: [], unanswered: [{ controller: 'c' }] });
    expect(heard).toEqual(['compare answered', 'compare unanswered']);
  });

  it.each<[string, (parts: ReturnType<typeof rig>, post: PeerPost) => unknown]>([
    ['no signature', ({ door }, { body }) => door.answer(undefined, body)],
    ['a token', ({ door }, { body }) => door.answer('Bearer fwt_x', body)],
    [
      'another body',
      ({ door }, { authorization, body }) =>
        door.answer(authorization, Buffer.from(body.toString().replace('compare', 'commit'))),
    ],
    [
      'the key of somebody else',
      ({ door }, { body }) => door.answer(`${peerScheme} ${createControllerKey().sign(body)}`, body),
    ],
    [
      'a controller that is gone',
      ({ door, records }, { authorization, body }) => {
        records.controllers.delete('a');
        return door.answer(authorization, body);
      },
    ],
    [
      'what was asked of another run',
      ({ records, clock }, { authorization, body }) =>
        createPeerDoor({ run: 'run-b2', records, own, now: () => clock.b }).answer(authorization, body),
    ],
    [
      'what was asked long ago',
      ({ door, clock }, { authorization, body }) => {
        clock.b += maxSkewMs + 1;
        return door.answer(authorization, body);
      },
    ],
    [
      'what is no question',
      ({ door, keys }) => door.answer(`${peerScheme} ${keys.a.sign(Buffer.from('x'))}`, Buffer.from('x')),
    ],
  ])('refuses %s', async (_what, ask) => {
    const parts = rig();
    await parts.peers.ask(question);
    const [post] = parts.posts;
    await expect(ask(parts, post as PeerPost)).rejects.toMatchObject({ code: 'Unauthenticated' });
  });

  it('says that it does not know a question of a later version', async () => {
    const { door, keys } = rig();
    const body = Buffer.from(JSON.stringify({ from: 'a', to: 'run-b', at: start, question: { ask: 'weather' } }));
    const authorization = `${peerScheme} ${keys.a.sign(body)}`;
    await expect(door.answer(authorization, body)).rejects.toMatchObject({ code: 'InvalidParameter' });
  });
});

describe('a long answer', () => {
  const items = Array.from({ length: 3_000 }, (_, at) => ({ type: 't', name: `two\nlines, ${at}` }));
  const lines = (list: readonly unknown[]) =>
    `{"answer":[\n${list.map((item) => JSON.stringify(item)).join(',\n')}\n]}`;

  it.each([
    ['a line for each item', lines(items), items],
    ['of no items', lines([]), []],
    ['in one line, as earlier versions have it', JSON.stringify({ answer: items }), items],
  ])('is read: %s', async (_what, text, want) => {
    const { peers, answerWith } = rig();
    answerWith(async () => said(text));
    expect((await peers.ask({ ask: 'proxies' })).answers).toEqual([{ controller: 'b', answer: want }]);
  });

  it('of long items is made in slices, and read as it was', async () => {
    const { peers, answerWith } = rig();
    const long = Array.from({ length: 50 }, (_, at) => String(at).repeat(40_000));
    const made = longAnswer('{"answer":[\n', long, (item) => JSON.stringify(item), '\n]}', ',\n');
    const slices: string[] = [];
    if (typeof made !== 'string') for await (const slice of made) slices.push(slice);
    // Some hundred kB of two MB and more.
    expect(slices.length).toBeGreaterThan(4);
    answerWith(async () => said(slices.join('')));
    expect((await peers.ask({ ask: 'proxies' })).answers).toEqual([{ controller: 'b', answer: long }]);
  });

  it('that was cut off is none', async () => {
    const { peers, answerWith } = rig();
    answerWith(async () => said(lines(items).slice(0, -3)));
    expect((await peers.ask({ ask: 'proxies' })).unanswered).toMatchObject([{ reason: 'its answer cannot be read' }]);
  });
});

describe('one that does not answer', () => {
  it('is named, since when it did not, and until it does again', async () => {
    const { peers, clock, answerWith } = rig();
    answerWith(async () => ({ status: 503, chunks: [] }));
    const missing = { controller: 'b', since: new Date(start).toISOString(), reason: 'it answers with status 503' };
    expect(await peers.ask(question)).toEqual({ answers: [], unanswered: [missing] });
    clock.a += 5_000;
    expect((await peers.ask(question)).unanswered).toEqual([missing]);
    answerWith(async () => said('{"answer":1}'));
    expect((await peers.ask(question)).unanswered).toEqual([]);
    answerWith(async () => said('nonsense'));
    expect((await peers.ask(question)).unanswered).toEqual([
      { controller: 'b', since: new Date(start + 5_000).toISOString(), reason: 'its answer cannot be read' },
    ]);
  });

  it('is not waited for longer than the limit, and for less the next time', async () => {
    const { peers, answerWith, limits } = rig();
    answerWith(never);
    const [first] = (await peers.ask(question)).unanswered;
    expect(first?.reason).toBe('it does not answer in time');
    await peers.ask(question);
    expect(limits[1]).toBeLessThan(limits[0] as number);
  });

  it('to a long question in time is given as much time for the next one, as long as it is heard of', async () => {
    const { peers, alive, answerWith, limits } = rig();
    answerWith(never);
    const long = { ask: 'clientStatus', request: '', maxBytes: 9 } as const;
    await peers.ask(long);
    await peers.ask(long);
    await peers.ask(question);
    alive.delete('b');
    await peers.ask(long);
    const [first, second, short, last] = limits as [number, number, number, number];
    expect(second).toBe(first);
    expect(short).toBeLessThan(first);
    expect(last).toBe(short);
  });

  it('and was not heard of for long, has been silent since it was heard of', async () => {
    const { peers, alive, records, answerWith } = rig();
    alive.delete('b');
    answerWith(never);
    expect((await peers.ask(question)).unanswered[0]?.since).toBe(records.controllers.get('b')?.seenAt);
  });

  it('since its version answers nobody, is named too; one without proxies is not asked', async () => {
    const { peers, records, posts } = rig();
    records.controllers.set('b', recordOf('b'));
    records.controllers.set('c', recordOf('c', { xdsAddress: '' }));
    expect((await peers.ask(question)).unanswered.map(({ controller }) => controller)).toEqual(['b']);
    expect(posts).toEqual([]);
  });
});
