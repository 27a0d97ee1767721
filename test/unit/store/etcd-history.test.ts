import { describe, expect, test } from 'vitest';
import { EtcdHistory } from '../../../src/store/etcd-history.ts';

const wide = { revisions: 1000, bytes: 1_000_000 };

/** Commits at the revisions given, each with an id named after it. */
function filled(history: EtcdHistory, revisions: readonly number[], bytes = 1): EtcdHistory {
  for (const revision of revisions) {
    history.idWritten(`id ${revision}`, revision);
    history.add(revision, bytes);
  }
  return history;
}

describe('the floor', () => {
  test('rises by number', () => {
    const history = filled(new EtcdHistory({ ...wide, revisions: 3 }, 0), [5, 9, 10]);
    expect(history.floor).toBe(0);
    expect(history.add(20, 1)).toBe(true);
    expect(history.floor).toBe(5);
  });

  test('rises by size, but the newest commit stays', () => {
    const history = filled(new EtcdHistory({ ...wide, bytes: 10 }, 0), [1, 2, 3], 4);
    expect(history.floor).toBe(1);
    history.add(4, 100);
    expect(history.floor).toBe(3);
  });

  test('rises in steps when much is kept', () => {
    const history = new EtcdHistory({ ...wide, revisions: 160 }, 0);
    const risen = Array.from({ length: 400 }, (_, i) => (history.add(i + 1, 1) ? i + 1 : 0)).filter((at) => at > 0);
    expect(risen.slice(0, 2)).toEqual([171, 182]);
    expect(history.floor).toBe((risen.at(-1) as number) - 160);
  });

  test('never falls, and rises when somebody else compacts', () => {
    const history = filled(new EtcdHistory(wide, 0), [1, 2, 3], 10);
    history.raise(2);
    history.raise(1);
    expect(history.floor).toBe(2);
  });
});

describe('ids that count no longer', () => {
  const old = () => {
    const history = filled(new EtcdHistory(wide, 0), [1, 2, 3, 4, 5, 6]);
    history.raise(5);
    return history;
  };

  test('are given out two by two, the oldest first, each once', () => {
    const history = old();
    expect([1, 2, 3, 4].map(() => history.takeOldIds('other'))).toEqual([
      ['id 1', 'id 2'],
      ['id 3', 'id 4'],
      ['id 5'],
      [],
    ]);
  });

  test('come again when they were not removed', () => {
    const history = old();
    history.give(history.takeOldIds('other'));
    expect(history.takeOldIds('other')).toEqual(['id 1', 'id 2']);
    history.idRemoved('id 1');
    history.give(['id 2']);
    expect(history.takeOldIds('other')).toEqual(['id 2', 'id 3']);
  });

  test('are none any more when they were used anew', () => {
    const history = old();
    history.idWritten('id 1', 7);
    expect(history.takeOldIds('other')).toEqual(['id 2', 'id 3']);
  });

  test('are not given to the transaction that uses one', () => {
    expect(old().takeOldIds('id 1')).toEqual(['id 2', 'id 3']);
  });
});
