import { describe, expect, test } from 'vitest';
import { stamp } from '../../../src/status/conditions.ts';
import { type ConditionDraft, type Transition, transitionsOf } from '../../../src/status/index.ts';

const draft = (type: string, status: ConditionDraft['status'], reason = 'Because'): ConditionDraft => ({
  type,
  status,
  reason,
  message: `${type} is ${status}`,
});
const known = (type: string, status: Transition['status'], reason = 'Because'): Transition => ({
  type,
  status,
  reason,
  since: '2026-01-01T00:00:00.000Z',
});
const now = '2026-02-02T00:00:00.000Z';
const before = '2026-01-01T00:00:00.000Z';

describe('the transitions to store', () => {
  test.each<[string, ConditionDraft[], Transition[], want: [type: string, since: string][] | undefined]>([
    [
      'nothing known: all of now',
      [draft('A', 'True'), draft('B', 'False')],
      [],
      [
        ['A', now],
        ['B', now],
      ],
    ],
    ['the same: none', [draft('A', 'True')], [known('A', 'True')], undefined],
    ['another message only: none', [{ ...draft('A', 'True'), message: 'new words' }], [known('A', 'True')], undefined],
    [
      'another status: of now',
      [draft('A', 'False'), draft('B', 'True')],
      [known('A', 'True'), known('B', 'True')],
      [
        ['A', now],
        ['B', before],
      ],
    ],
    ['from False to Unknown: of now', [draft('A', 'Unknown')], [known('A', 'False')], [['A', now]]],
    [
      'another reason of the same status: since then',
      [draft('A', 'False', 'Other')],
      [known('A', 'False')],
      [['A', before]],
    ],
    [
      'a new type',
      [draft('A', 'True'), draft('B', 'True')],
      [known('A', 'True')],
      [
        ['A', before],
        ['B', now],
      ],
    ],
    ['a type that is no more', [draft('A', 'True')], [known('A', 'True'), known('B', 'True')], [['A', before]]],
    ['no conditions at all, and none known', [], [], undefined],
  ])('%s', (_, drafts, stored, want) => {
    expect(transitionsOf(drafts, stored, now)?.map(({ type, since }) => [type, since])).toEqual(want);
  });
});

describe('conditions as they are told', () => {
  test('have the time of their transition, or of now where that was of another status', () => {
    const told = stamp(
      [draft('A', 'True'), draft('B', 'False'), draft('C', 'True')],
      7,
      [known('A', 'True', 'Other'), known('B', 'True')],
      now,
    );
    expect(told.map(({ type, lastTransitionTime }) => [type, lastTransitionTime])).toEqual([
      ['A', before],
      ['B', now],
      ['C', now],
    ]);
    expect(told.every(({ observedGeneration }) => observedGeneration === 7)).toBe(true);
  });

  test('have bounded messages', () => {
    const [told] = stamp([{ ...draft('A', 'True'), message: 'x'.repeat(10_000) }], 1, [], now);
    expect(told?.message).toHaveLength(2048);
    expect(told?.message.endsWith('…')).toBe(true);
    const [whole] = stamp([{ ...draft('A', 'True'), message: 'x'.repeat(2048) }], 1, [], now);
    expect(whole?.message).toBe('x'.repeat(2048));
  });
});
