import { describe, expect, test } from 'vitest';
import { createHeldObjects, isHeldElsewhere, oldestGood, pinOf } from '../../../src/control/held.ts';
import { advance, type SearchInput } from '../../../src/control/search.ts';
import type { Evidence, Rejection, SearchRecord, Suspect } from '../../../src/status/index.ts';
import { rejectionOf } from '../../support/refusal-records.ts';

/** `a1/2`: object a, good in generation 1 and refused in 2; `a-/1`: never good. */
function suspects(text: string): Suspect[] {
  return text
    .split(' ')
    .filter((word) => word !== '')
    .map((word) => {
      const [, unit = '', good = '', refused = ''] = /^([a-zA-Z]+)([-\d]+)\/(\d+)$/.exec(word) ?? [];
      return { unit, uid: `uid ${unit}`, refused: Number(refused), good: good === '-' ? null : Number(good) };
    });
}

function words(list: readonly Suspect[]): string {
  return list.map(({ unit, good, refused }) => `${unit}${good ?? '-'}/${refused}`).join(' ');
}

const { hash, words: said, versions, nodes, nodeCount, first, last } = rejectionOf();
const evidence: Evidence = { hash, words: said, versions, nodes, nodeCount, first, last };

type Lists = Partial<Record<'guilty' | 'trial' | 'hot' | 'cold', string>>;

function record({ guilty = '', trial = '', hot = '', cold = '' }: Lists): SearchRecord {
  return {
    type: 't',
    name: 'n',
    guilty: suspects(guilty).map((suspect) => ({ ...suspect, evidence })),
    trial: suspects(trial),
    hot: suspects(hot),
    cold: suspects(cold),
    evidence: trial + hot + cold === '' ? null : evidence,
  };
}

function lists(of: SearchRecord | undefined): Lists | undefined {
  if (of === undefined) return undefined;
  const found = (['guilty', 'trial', 'hot', 'cold'] as const).map((list) => [list, words(of[list])] as const);
  return Object.fromEntries(found.filter(([, text]) => text !== ''));
}

interface Situation {
  readonly record?: Lists;
  /** Objects as they stand, `a2 b1`: name and generation. */
  readonly standing: string;
  /** What was refused; revision 10 unless told. The record was written at 5. */
  readonly rejection: Partial<Rejection> & { readonly of: string };
  readonly hash?: string | undefined;
  readonly frames?: string;
  readonly elsewhere?: string;
}

function step(situation: Situation) {
  const { of, ...rest } = situation.rejection;
  const generations = new Map(
    situation.standing
      .split(' ')
      .filter((word) => word !== '')
      .map((word) => [word.slice(0, -1), Number(word.slice(-1))]),
  );
  const input: SearchInput = {
    record: situation.record === undefined ? undefined : record(situation.record),
    since: situation.record === undefined ? 0 : 5,
    rejection: rejectionOf({
      hash: 'bad',
      revision: 10,
      accepted: { hash: 'good', revision: 1 },
      suspects: suspects(of),
      ...rest,
    }),
    hash: 'hash' in situation ? situation.hash : 'bad',
    standing: (unit) => {
      const generation = generations.get(unit);
      return generation === undefined ? undefined : { uid: `uid ${unit}`, generation, revision: 1 };
    },
    isFrame: (unit) => situation.frames?.includes(unit) === true,
    isHeldElsewhere: (unit) => situation.elsewhere?.includes(unit) === true,
  };
  const { record: next, over } = advance(input);
  return { next: lists(next), over, isSame: next === input.record };
}

describe('a refusal', () => {
  test.each<[string, Situation, Lists | undefined]>([
    ['of one object', { standing: 'a2', rejection: { of: 'a1/2' } }, { guilty: 'a1/2' }],
    ['of several holds all of them back', { standing: 'a2 b1', rejection: { of: 'a1/2 b-/1' } }, { hot: 'a1/2 b-/1' }],
    ['leaves out what was edited since', { standing: 'a3 b1', rejection: { of: 'a1/2 b-/1' } }, { hot: 'b-/1' }],
    [
      'leaves out what is gone, but knows that it was there',
      { standing: 'b1', rejection: { of: 'a1/2 b-/1' } },
      { hot: 'b-/1' },
    ],
    [
      'leaves out what was good in the same generation',
      { standing: 'a2 b1', rejection: { of: 'a1/2 b1/1' } },
      { hot: 'a1/2' },
    ],
    ['of nothing that can be held back holds nothing back', { standing: 'b1', rejection: { of: 'b1/1' } }, undefined],
    [
      'of a trial: what else was hot waits',
      { record: { trial: 'a1/2 b1/2', hot: 'c1/2' }, standing: 'a2 b2 c2', rejection: { of: 'a1/2 b1/2' } },
      { hot: 'a1/2 b1/2', cold: 'c1/2' },
    ],
    [
      'of a trial of one finds the culprit',
      { record: { trial: 'a1/2', cold: 'c1/2' }, standing: 'a2 c2', rejection: { of: 'a1/2' } },
      { guilty: 'a1/2', cold: 'c1/2' },
    ],
    [
      'of a trial of one finds it though something else changed that cannot be held back',
      { record: { trial: 'a1/2' }, standing: 'a2 b1', rejection: { of: 'a1/2 b1/1' } },
      { guilty: 'a1/2' },
    ],
    [
      'takes in what was edited meanwhile',
      { record: { trial: 'a1/2', hot: 'c1/2' }, standing: 'a2 c2 e7', rejection: { of: 'a1/2 e6/7' } },
      { hot: 'a1/2 e6/7', cold: 'c1/2' },
    ],
    [
      'of a mended culprit replaces it',
      { record: { guilty: 'a1/2' }, standing: 'a3', rejection: { of: 'a1/3' } },
      { guilty: 'a1/3' },
    ],
    [
      'after a restart knows what was good from the record',
      { record: { guilty: 'a1/2' }, standing: 'a3', rejection: { of: 'a-/3' } },
      { guilty: 'a1/3' },
    ],
    [
      'of what is served in place of a culprit goes further back',
      { record: { guilty: 'a3/4' }, standing: 'a4', rejection: { of: 'a2/3' } },
      { guilty: 'a2/4' },
    ],
  ])('%s', (_, situation, want) => {
    expect(step(situation)).toMatchObject({ next: want, over: false });
  });

  test.each<[string, Situation]>([
    [
      'of something older than the last step',
      {
        record: { trial: 'a1/2', hot: 'b1/2' },
        standing: 'a2 b2',
        rejection: { of: 'a1/2 b1/2', revision: 4 },
        hash: 'other',
      },
    ],
    [
      'by single proxies',
      { record: { guilty: 'b1/2' }, standing: 'a2 b2', rejection: { of: 'a1/2', acquitted: true }, hash: 'other' },
    ],
    ['that was looked at', { record: { hot: 'a1/2 b1/2' }, standing: 'a2 b2', rejection: { of: 'a1/2 b1/2' } }],
  ])('%s changes nothing', (_, situation) => {
    expect(step(situation)).toMatchObject({ isSame: true, over: false });
  });

  test('that a trial leads back to is laid at the trial, and nobody is asked again', () => {
    const situation: Situation = {
      record: { trial: 'b1/2' },
      standing: 'a2 b2',
      rejection: { of: 'a1/2 b1/2', revision: 3 },
    };
    expect(step(situation).next).toEqual({ guilty: 'b1/2' });
  });
});

describe('an acceptance', () => {
  const accepted = { of: 'a1/2', revision: 3, accepted: { hash: 'new', revision: 7 } };

  test.each<[string, Situation, Lists | undefined]>([
    [
      'of the form before begins with half',
      { record: { hot: 'a1/2 b1/2 c1/2' }, standing: 'a2 b2 c2', rejection: { of: 'a1/2' }, hash: 'good' },
      { trial: 'a1/2 b1/2', hot: 'c1/2' },
    ],
    [
      'of a trial goes on with the other half',
      { record: { trial: 'a1/2', hot: 'b1/2 c1/2', cold: 'd1/2' }, standing: 'a2 b2 c2 d2', rejection: accepted },
      { trial: 'b1/2', hot: 'c1/2', cold: 'd1/2' },
    ],
    [
      'when nothing is hot tries all that is left',
      { record: { guilty: 'a1/2', cold: 'c1/2 d1/2' }, standing: 'a2 c2 d2', rejection: accepted },
      { guilty: 'a1/2', trial: 'c1/2 d1/2' },
    ],
    [
      'of all but the culprit ends the search',
      { record: { guilty: 'a1/2', trial: 'c1/2' }, standing: 'a2 c2', rejection: accepted },
      { guilty: 'a1/2' },
    ],
    [
      'tries first what the resource is made for, where it never was good',
      { record: { hot: 'r-/1 f-/1 s-/1' }, standing: 'r1 f1 s1', rejection: { of: '' }, hash: undefined, frames: 'f' },
      { trial: 'f-/1', hot: 'r-/1 s-/1' },
    ],
    [
      'leaves to another search what that one holds',
      { record: { hot: 'a1/2 b1/2' }, standing: 'a2 b2', rejection: { of: 'a1/2' }, hash: 'good', elsewhere: 'a' },
      { trial: 'b1/2', hot: 'a1/2' },
    ],
    [
      'forgets what was edited and is good now',
      { record: { guilty: 'a1/2 b1/2' }, standing: 'a3 b2', rejection: accepted },
      { guilty: 'b1/2' },
    ],
  ])('%s', (_, situation, want) => {
    expect(step(situation)).toMatchObject({ next: want, over: false });
  });

  test.each<[string, Situation]>([
    ['when the last culprit is mended', { record: { guilty: 'a1/2' }, standing: 'a3', rejection: accepted }],
    ['when the last culprit is deleted', { record: { guilty: 'a1/2' }, standing: '', rejection: accepted }],
    [
      'when nothing is left of the resource',
      { record: { guilty: 'a-/1' }, standing: '', rejection: { of: 'a-/1' }, hash: undefined },
    ],
    [
      'when another proxy accepted the same after all',
      { standing: 'a2', rejection: { of: 'a1/2', accepted: { hash: 'bad', revision: 10 }, acquitted: true } },
    ],
    ['when what was refused went back to what was good', { standing: 'a3', rejection: { of: 'a1/2' }, hash: 'good' }],
  ])('%s nothing is left of it', (_, situation) => {
    expect(step(situation)).toEqual({ next: undefined, over: true, isSame: situation.record === undefined });
  });

  test('of a form that proxies of another version refuse is none', () => {
    const situation: Situation = {
      standing: 'a2 b2',
      rejection: { of: 'a1/2 b1/2', accepted: { hash: 'bad', revision: 10 } },
    };
    expect(step(situation).next).toEqual({ hot: 'a1/2 b1/2' });
  });
});

describe('without knowing what was accepted last', () => {
  test.each<[string, Situation, Lists | undefined]>([
    [
      'the newest is held back',
      { standing: 'a2 b2 c1', rejection: { of: 'a-/2 b-/2 c-/1', isBaseKnown: false, accepted: null } },
      { hot: 'a1/2' },
    ],
    [
      'then twice as much',
      {
        record: { hot: 'a1/2 b1/2' },
        standing: 'a2 b2 c2 d2 e2',
        rejection: { of: 'c-/2 d-/2 e-/2', isBaseKnown: false, accepted: null },
      },
      { hot: 'a1/2 b1/2 c1/2 d1/2' },
    ],
    [
      'what the resource is made for comes last',
      { standing: 'f1 r1', rejection: { of: 'f-/1 r-/1', isBaseKnown: false, accepted: null }, frames: 'f' },
      { hot: 'r-/1' },
    ],
    [
      'one alone is the culprit',
      { standing: 'f1', rejection: { of: 'f-/1', isBaseKnown: false, accepted: null }, frames: 'f' },
      { guilty: 'f-/1' },
    ],
    [
      'in a trial, it is laid at the trial',
      { record: { trial: 'a1/2 b1/2' }, standing: 'a2 b2 c2', rejection: { of: 'a-/2 b-/2 c-/2', isBaseKnown: false } },
      { hot: 'a1/2 b1/2' },
    ],
  ])('%s', (_, situation, want) => {
    expect(step(situation).next).toEqual(want);
  });
});

describe('an object that several searches hold', () => {
  const [a12 = suspects('a1/2')[0] as Suspect] = suspects('a1/2');
  const held = (searches: Record<string, Lists>) => {
    const objects = createHeldObjects();
    objects.prepare(new Map(Object.entries(searches).map(([key, of]) => [key, record(of)]))).apply();
    return objects;
  };

  test.each<[string, Record<string, Lists>, Suspect | undefined]>([
    ['is held back by one', { x: { hot: 'a1/2' } }, a12],
    ['is served while on trial', { x: { trial: 'a1/2' } }, undefined],
    ['is on trial when the first says so', { x: { trial: 'a1/2' }, y: { cold: 'a1/2' } }, undefined],
    ['is held back when the first says so', { x: { cold: 'a1/2' }, y: { trial: 'a1/2' } }, a12],
    ['is held back by whoever found it guilty', { x: { trial: 'a1/2' }, y: { guilty: 'a1/2' } }, a12],
    ['is served in what is good for all', { x: { hot: 'a3/4' }, y: { hot: 'a2/4' } }, { ...a12, refused: 4, good: 2 }],
    [
      'is not served when it was never good for one',
      { x: { hot: 'a3/4' }, y: { hot: 'a-/4' } },
      { ...a12, refused: 4, good: null },
    ],
    ['is judged by its newest generation', { x: { guilty: 'a1/2' }, y: { trial: 'a1/3' } }, undefined],
  ])('%s', (_, searches, want) => {
    const pin = pinOf(held(searches).of('a'));
    const found = pin && { unit: pin.unit, uid: pin.uid, refused: pin.refused, good: pin.good };
    expect(found).toEqual(want);
  });

  test('is tried by the first of them', () => {
    const all = held({ x: { hot: 'a1/2' }, y: { hot: 'a1/2' } }).of('a');
    expect([isHeldElsewhere(all, 'x'), isHeldElsewhere(all, 'y')]).toEqual([false, true]);
    const other = held({ x: { hot: 'a1/2' }, y: { guilty: 'a1/2' } }).of('a');
    expect(isHeldElsewhere(other, 'x')).toBe(true);
  });

  test('keeps all generations that may be needed, and is forgotten with the last search', () => {
    const objects = held({ x: { hot: 'a3/4' }, y: { hot: 'a2/4' } });
    expect(oldestGood(objects.of('a'))).toBe(2);
    const next = objects.prepare(
      new Map([
        ['x', undefined],
        ['y', undefined],
      ]),
    );
    expect([...next.held]).toEqual([['a', []]]);
    next.apply();
    expect(objects.of('a')).toEqual([]);
    expect(oldestGood([])).toBeUndefined();
  });
});
