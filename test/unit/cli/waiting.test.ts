import { describe, expect, it } from 'vitest';
import { parseGoal } from '../../../src/cli/commands/wait.ts';
import { type Goal, isReached, programmed, settled } from '../../../src/cli/waiting.ts';
import type { WireObject } from '../../../src/cli/wire.ts';

const object = (status: string, observedGeneration = 3, reason = 'X') =>
  ({
    metadata: { name: 'a', generation: 3 },
    status: { conditions: [{ type: 'Programmed', status, reason, message: '', observedGeneration }] },
  }) as unknown as WireObject;

describe('isReached', () => {
  const gone: Goal = { kind: 'gone' };
  const cases: readonly [name: string, goal: Goal, object: WireObject | undefined, want: boolean][] = [
    ['the condition holds', programmed, object('True'), true],
    ['it does not', programmed, object('False'), false],
    ['it held for an older generation', programmed, object('True', 2), false],
    ['there is no object', programmed, undefined, false],
    ['there is no status', programmed, { metadata: { name: 'a' } } as WireObject, false],
    ['another status is waited for', { ...programmed, status: 'False' }, object('False'), true],
    ['nobody refers to it', settled, object('Unknown', 3, 'NotReferenced'), true],
    ['no proxy is there', settled, object('Unknown', 3, 'NoProxies'), false],
    ['it is gone', gone, undefined, true],
    ['it is still there', gone, object('True'), false],
  ];
  it.each(cases)('when %s', (_name, goal, object, want) => {
    expect(isReached(goal, object)).toBe(want);
  });
});

describe('parseGoal', () => {
  it.each([
    ['delete', { kind: 'gone' }],
    ['condition=Programmed', { kind: 'condition', type: 'Programmed', status: 'True' }],
    ['condition=Healthy=false', { kind: 'condition', type: 'Healthy', status: 'False' }],
  ])('%s', (text, want) => {
    expect(parseGoal(text)).toEqual(want);
  });
  it.each([
    ['conditon=Programmed', 'Did you mean "condition"?'],
    ['condition=Programmed=Tru', 'Did you mean "True"?'],
    ['condition=', 'Did you mean "condition"?'],
  ])('refuses %s', (text, hint) => {
    expect(() => parseGoal(text)).toThrow(expect.objectContaining({ exitCode: 2, hint }));
  });
});
