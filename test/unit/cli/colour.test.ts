import { describe, expect, it } from 'vitest';
import { createPaint } from '../../../src/cli/output/colour.ts';

const output = (isTerminal: boolean) => ({ write: () => undefined, isTerminal, columns: undefined });

describe('createPaint', () => {
  it('colours on a terminal', () => {
    expect(createPaint(output(true), {})('good', 'yes')).toBe('\u001b[32myes\u001b[39m');
  });
  it.each([
    ['elsewhere', false, {}],
    ['with NO_COLOR', true, { NO_COLOR: '1' }],
    ['on a dumb terminal', true, { TERM: 'dumb' }],
  ])('does not %s', (_name, isTerminal, env) => {
    expect(createPaint(output(isTerminal), env)('good', 'yes')).toBe('yes');
  });
  it('does when NO_COLOR is there and empty', () => {
    expect(createPaint(output(true), { NO_COLOR: '' })('bad', 'no')).not.toBe('no');
  });
});
