import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { callLimitMs, EtcdPatience, electionLimitMs } from '../../../src/store/etcd-patience.ts';
import { EtcdQuorum, type MemberAnswer } from '../../../src/store/etcd-quorum.ts';

const all = ['a', 'b', 'c'];

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A cluster whose members answer while they are here; one that is not here answers nothing, however long one waits. */
function clusterOf(members: readonly string[], voters: readonly string[] | undefined = all) {
  const here = new Set(members);
  let asked = 0;
  const ask = (member: string) => async (limitMs: number) => {
    asked += 1;
    const answer: MemberAnswer = { member, voters };
    if (here.has(member)) return answer;
    await new Promise((resolve) => setTimeout(resolve, limitMs));
    return undefined;
  };
  const quorum = new EtcdQuorum(members.map(ask));
  return { here, quorum, patience: new EtcdPatience(quorum), asked: () => asked };
}

/** Milliseconds until the time of a call is over; undefined: it is not, after so long. */
async function overAfter(patience: EtcdPatience, mostMs = 20_000): Promise<number | undefined> {
  patience.asked();
  const begun = performance.now();
  const { over } = patience.begin();
  for (let ms = 0; ms < mostMs && !over.aborted; ms += 10) await vi.advanceTimersByTimeAsync(10);
  return over.aborted ? Math.round(performance.now() - begun) : undefined;
}

const about = (ms: number) => ({ least: ms - 20, most: ms + 150 });

function expectAbout(got: number | undefined, ms: number): void {
  expect(got).toBeGreaterThanOrEqual(about(ms).least);
  expect(got).toBeLessThanOrEqual(about(ms).most);
}

describe('a majority', () => {
  const cases: [string, readonly string[], readonly string[], readonly string[] | undefined, boolean][] = [
    ['all of three', all, all, all, true],
    ['two of three', all, ['a', 'c'], all, true],
    ['one of three', all, ['b'], all, false],
    ['two that are asked, of five', ['a', 'b'], ['a', 'b'], ['a', 'b', 'c', 'd', 'e'], false],
    ['one behind three addresses', ['a', 'a', 'a'], ['a'], all, false],
    ['one that elects and one that only learns', ['a', 'learner'], ['a', 'learner'], all, false],
    ['a member that is alone', ['a'], ['a'], ['a'], false],
    ['two of three that do not say who else there is', all, ['a', 'b'], undefined, true],
    ['one of three that does not say who else there is', all, ['a'], undefined, false],
    ['one address, of nobody knows how many', ['a'], ['a'], undefined, false],
  ];
  test.each(cases)('%s', async (_, members, here, voters, answers) => {
    const cluster = clusterOf(members, voters);
    for (const member of members) if (!here.includes(member)) cluster.here.delete(member);
    const stop = cluster.quorum.look();
    await vi.advanceTimersByTimeAsync(500);
    expect(cluster.quorum.answers).toBe(answers);
    stop();
  });

  test('is one of answers that are not old', async () => {
    const { quorum, here } = clusterOf(all);
    const stop = quorum.look();
    await vi.advanceTimersByTimeAsync(500);
    here.delete('a');
    here.delete('b');
    await vi.advanceTimersByTimeAsync(1_100);
    expect(quorum.answers).toBe(false);
    here.add('a');
    await vi.advanceTimersByTimeAsync(1_300);
    expect(quorum.answers).toBe(true);
    stop();
  });

  test('is looked for only while somebody wants to know', async () => {
    const { quorum, asked } = clusterOf(all);
    const [one, other] = [quorum.look(), quorum.look()];
    await vi.advanceTimersByTimeAsync(500);
    one();
    one();
    const before = asked();
    await vi.advanceTimersByTimeAsync(500);
    expect(asked()).toBeGreaterThan(before);
    other();
    const last = asked();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(asked()).toBe(last);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('the time of a call', () => {
  test('is short where no majority answers', async () => {
    const { patience, here } = clusterOf(all);
    here.delete('a');
    here.delete('b');
    expectAbout(await overAfter(patience), callLimitMs);
  });

  test('is long where one does, and asks nobody while calls are answered soon', async () => {
    const { patience, asked } = clusterOf(all);
    const quick = patience.begin();
    await vi.advanceTimersByTimeAsync(500);
    quick.end();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(asked()).toBe(0);
    expectAbout(await overAfter(patience), electionLimitMs);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('ends when the majority is gone', async () => {
    const { patience, here } = clusterOf(all);
    setTimeout(() => here.clear(), 3_000);
    const ms = (await overAfter(patience)) as number;
    expect(ms).toBeGreaterThan(3_000);
    expect(ms).toBeLessThan(4_300);
  });

  test('is short again once nobody was answered for long: members that cannot elect hold nobody up', async () => {
    const { patience } = clusterOf(all);
    expectAbout(await overAfter(patience), electionLimitMs);
    expectAbout(await overAfter(patience), callLimitMs);
    patience.answered();
    expectAbout(await overAfter(patience), electionLimitMs);
  });
});
