import { describe, expect, test } from 'vitest';
import { type Adoption, createChanges, type ObjectChange } from '../../../src/control/index.ts';

function change(revision: number): ObjectChange {
  return { revision, kind: 'Scope', key: `Scope/s${revision}`, object: undefined };
}

function adoption(revision: number, revisions: readonly number[], first = false): Adoption {
  return {
    revision,
    needed: revision,
    receivedAt: 0,
    changes: revisions.map(change),
    commit: { revision, puts: [], removals: [], audiences: [] },
    touched: new Set(),
    over: [],
    happened: [],
    work: { computed: new Map(), settleMs: 0 },
    first,
  };
}

const revisionsOf = (changes: readonly ObjectChange[] | undefined) => changes?.map(({ revision }) => revision);

describe('the changes since a revision', () => {
  test('are unknown before the first build, and from before it', () => {
    const changes = createChanges();
    expect(changes.since(0)).toBeUndefined();
    changes.add(adoption(10, [3, 7, 10], true));
    expect(changes.since(9)).toBeUndefined();
    expect(changes.since(10)).toEqual([]);
    expect(changes.since(11)).toEqual([]);
  });

  test('are those of later revisions, also from within a step', () => {
    const changes = createChanges();
    changes.add(adoption(10, [], true));
    changes.add(adoption(14, [11, 12, 12, 14]));
    changes.add(adoption(15, []));
    changes.add(adoption(17, [16, 17]));
    const want: [number, number[]][] = [
      [10, [11, 12, 12, 14, 16, 17]],
      [11, [12, 12, 14, 16, 17]],
      [12, [14, 16, 17]],
      [13, [14, 16, 17]],
      [14, [16, 17]],
      [15, [16, 17]],
      [17, []],
    ];
    for (const [revision, revisions] of want) expect(revisionsOf(changes.since(revision))).toEqual(revisions);
  });

  test('are kept to a bound, and a revision is kept whole or not at all', () => {
    const changes = createChanges({ kept: 4 });
    changes.add(adoption(0, [], true));
    changes.add(adoption(5, [1, 2, 3, 4, 4, 4, 5]));
    expect(changes.since(0)).toHaveLength(7);
    changes.add(adoption(7, [6, 7]));
    // Nine are more than twice four; the cut would fall into revision 4.
    expect(changes.since(3)).toBeUndefined();
    expect(revisionsOf(changes.since(4))).toEqual([5, 6, 7]);
  });

  test('of a step larger than the bound are not known in part', () => {
    const changes = createChanges({ kept: 4 });
    changes.add(adoption(0, [], true));
    changes.add(
      adoption(
        20,
        Array.from({ length: 20 }, (_, n) => n + 1),
      ),
    );
    expect(changes.since(15)).toBeUndefined();
    expect(revisionsOf(changes.since(16))).toEqual([17, 18, 19, 20]);
  });

  test('hold what was asked for even when more is added', () => {
    const changes = createChanges();
    changes.add(adoption(0, [], true));
    changes.add(adoption(1, [1]));
    const before = changes.since(0);
    changes.add(adoption(2, [2]));
    expect(revisionsOf(before)).toEqual([1]);
  });
});

test('listeners hear of each step until they leave, also of one without changes', () => {
  const changes = createChanges();
  const heard: [number, number][] = [];
  const leave = changes.subscribe((revision, made) => heard.push([revision, made.length]));
  changes.add(adoption(1, [1], true));
  changes.add(adoption(2, []));
  leave();
  changes.add(adoption(3, [3]));
  expect(heard).toEqual([
    [1, 1],
    [2, 0],
  ]);
});
