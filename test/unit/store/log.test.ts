import { describe, expect, test } from 'vitest';
import { FairwayError, InvariantError } from '../../../src/lib/errors.ts';
import { ChangeLog, compacted, sizeOf } from '../../../src/store/log.ts';
import type { WatchEvent } from '../../../src/store/store.ts';

const wide = { revisions: 1000, bytes: 1_000_000 };

function change(revision: number, value = 'v'): WatchEvent {
  return { revision, puts: [{ key: 'k', value, createRevision: 1, modRevision: revision }], deletes: [] };
}

function filled(log: ChangeLog, first: number, last: number): ChangeLog {
  for (let revision = first; revision <= last; revision++) log.append(change(revision));
  return log;
}

async function read(log: ChangeLog, after: number, count: number): Promise<number[]> {
  const revisions: number[] = [];
  if (count === 0) return revisions;
  for await (const { revision } of log.watch(after, new AbortController().signal)) {
    revisions.push(revision);
    if (revisions.length === count) break;
  }
  return revisions;
}

describe('bounds', () => {
  test('keeps the newest by number', () => {
    const log = filled(new ChangeLog({ bounds: { ...wide, revisions: 3 } }), 1, 10);
    expect([log.floor, log.head]).toEqual([7, 10]);
  });

  test('keeps the newest by size, and one at least', () => {
    const size = sizeOf(change(1));
    const log = filled(new ChangeLog({ bounds: { ...wide, bytes: 3 * size } }), 1, 10);
    expect([log.floor, log.head]).toEqual([7, 10]);
    log.append(change(11, 'v'.repeat(10 * size)));
    expect([log.floor, log.head]).toEqual([10, 11]);
    // The big one has gone again, and its size with it.
    expect(filled(log, 12, 14).floor).toBe(11);
  });

  test('begins with the head it was given', async () => {
    const log = new ChangeLog({ head: 41, bounds: wide });
    expect([log.floor, log.head]).toEqual([41, 41]);
    log.append(change(42));
    expect(await read(log, 41, 1)).toEqual([42]);
  });

  test('a commit out of order is a bug', () => {
    const log = filled(new ChangeLog({ bounds: wide }), 1, 2);
    expect(() => log.append(change(2))).toThrow(InvariantError);
    expect(() => log.append(change(4))).toThrow(InvariantError);
  });
});

describe('revisions that are shared with others', () => {
  const gappy = () => {
    const log = new ChangeLog({ head: 10, gaps: true, bounds: { ...wide, revisions: 3 } });
    for (const revision of [12, 17, 18, 30]) log.append(change(revision));
    return log;
  };

  test.each([
    ['the floor', 12, [17, 18, 30]],
    ['a commit', 17, [18, 30]],
    ['between two commits', 20, [30]],
  ])('are skipped by a watch from %s', async (_, after, want) => {
    expect(await read(gappy(), after, want.length)).toEqual(want);
  });

  test('put the floor where the last commit was that is not kept', async () => {
    const log = gappy();
    expect([log.floor, log.head]).toEqual([12, 30]);
    await expect(read(log, 11, 1)).rejects.toMatchObject({ extra: { compactedRevision: 12 } });
  });

  test('still have an order', () => {
    expect(() => gappy().append(change(30))).toThrow(InvariantError);
  });

  test('may be lost: watchers that have not seen them are told, others go on', async () => {
    const log = gappy();
    const behind = log.watch(18, new AbortController().signal)[Symbol.asyncIterator]();
    const ahead = read(log, 40, 1);
    log.restart(40);
    await expect(behind.next()).rejects.toMatchObject({ code: 'RevisionCompacted' });
    log.append(change(50));
    expect(await ahead).toEqual([50]);
  });
});

describe('older commits', () => {
  /** A log that holds 8, 9, 10, behind it a disk with pages of two that reaches back to `floor`. */
  const paged = (floor: number, asked: number[] = []) => {
    const older = async (after: number) => {
      asked.push(after);
      if (after < floor) throw compacted(after, floor);
      return [change(after + 1), change(after + 2)];
    };
    return filled(new ChangeLog({ bounds: { ...wide, revisions: 3 }, older }), 1, 10);
  };

  test('are read page by page, and the rest from memory', async () => {
    const asked: number[] = [];
    expect(await read(paged(2, asked), 2, 8)).toEqual([3, 4, 5, 6, 7, 8, 9, 10]);
    expect(asked).toEqual([2, 4, 6]);
  });

  test('are not asked for by who keeps up', async () => {
    const asked: number[] = [];
    expect(await read(paged(2, asked), 7, 3)).toEqual([8, 9, 10]);
    expect(asked).toEqual([]);
  });

  test('that are gone end the watch', async () => {
    await expect(read(paged(2), 1, 1)).rejects.toMatchObject({ code: 'RevisionCompacted' });
  });

  test('with a gap are a bug', async () => {
    const older = async (after: number) => [change(after + 2)];
    const log = filled(new ChangeLog({ bounds: { ...wide, revisions: 1 }, older }), 1, 10);
    await expect(read(log, 0, 1)).rejects.toThrow(InvariantError);
  });

  test('that cannot be read end the watch with the reason, or quietly when it is aborted', async () => {
    const broken = new FairwayError('StoreUnavailable', 'reading: no');
    const older = () => Promise.reject(broken);
    const log = filled(new ChangeLog({ bounds: { ...wide, revisions: 1 }, older }), 1, 10);
    await expect(read(log, 0, 1)).rejects.toBe(broken);

    const controller = new AbortController();
    const next = log.watch(0, controller.signal).next();
    controller.abort();
    expect(await next).toEqual({ done: true, value: undefined });
  });
});

describe('watchers', () => {
  test('that wait are all woken', async () => {
    const log = new ChangeLog({ bounds: wide });
    const waiting = Promise.all([read(log, 0, 2), read(log, 0, 1), read(log, 1, 1)]);
    filled(log, 1, 2);
    expect(await waiting).toEqual([[1, 2], [1], [2]]);
  });

  test('leave nothing on the signal of a long watch', async () => {
    const log = new ChangeLog({ bounds: wide });
    const { signal } = new AbortController();
    let listeners = 0;
    const add = signal.addEventListener.bind(signal);
    const drop = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners += 1;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof drop>) => {
      listeners -= 1;
      drop(...args);
    };
    const watch = log.watch(0, signal);
    for (let revision = 1; revision <= 20; revision++) {
      const next = watch.next();
      log.append(change(revision));
      expect((await next).value).toEqual(change(revision));
      expect(listeners).toBe(0);
    }
  });

  test('that catch up let others run in between', async () => {
    const log = filled(new ChangeLog({ bounds: wide }), 1, 1000);
    let seen = 0;
    const seenByOther = new Promise<number>((resolve) => setImmediate(() => resolve(seen)));
    for await (const { revision } of log.watch(0, new AbortController().signal)) {
      seen = revision;
      if (revision === 1000) break;
    }
    expect(await seenByOther).toBeLessThan(1000);
  });

  test('end when the log is closed, those that wait and those that come later', async () => {
    const log = filled(new ChangeLog({ bounds: wide }), 1, 3);
    const reason = new FairwayError('StoreUnavailable', 'closed');
    const ended = expect(read(log, 3, 1)).rejects.toBe(reason);
    log.close(reason);
    await ended;
    await expect(read(log, 0, 1)).rejects.toBe(reason);
  });
});
