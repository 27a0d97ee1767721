import { describe, expect, it } from 'vitest';
import { formatAge, oneLine, printable, textWidth, truncate, wrap } from '../../../src/cli/output/text.ts';

describe('formatAge', () => {
  const minute = 60_000;
  const hour = 60 * minute;
  const day = 24 * hour;
  const cases: readonly [ms: number, want: string][] = [
    [-5, '0s'],
    [999, '0s'],
    [119_999, '119s'],
    [2 * minute, '2m'],
    [3 * minute + 20_000, '3m20s'],
    [10 * minute + 59_000, '10m'],
    [3 * hour, '3h'],
    [5 * hour + 10 * minute, '5h10m'],
    [47 * hour, '47h'],
    [2 * day + 3 * hour, '2d3h'],
    [400 * day, '400d'],
  ];
  it.each(cases)('%d ms is %s', (ms, want) => {
    expect(formatAge(ms)).toBe(want);
  });
});

describe('printable', () => {
  it('takes out what a terminal would act upon, and keeps lines', () => {
    expect(printable('a\u001b]0;title\u0007b\u001b[2Jc\r\u0008\u202ed\n\te')).toBe('abcd\n\te');
  });
  it('keeps letters of any script', () => {
    expect(printable('grüße 日本 🙂')).toBe('grüße 日本 🙂');
  });
});

describe('oneLine', () => {
  it('joins lines', () => {
    expect(oneLine(' a\n  b\tc ')).toBe('a b c');
  });
});

describe('textWidth and truncate', () => {
  it('count cells', () => {
    expect(textWidth('日本')).toBe(4);
    expect(textWidth('e\u0301')).toBe(1);
    expect(textWidth('🙂')).toBe(2);
  });
  it.each([
    ['abcdef', 6, 'abcdef'],
    ['abcdef', 5, 'abcd…'],
    ['日本語', 4, '日…'],
    ['ab cdef', 4, 'ab…'],
    ['abc', 1, '…'],
  ])('%s in %d cells is %s', (text, width, want) => {
    expect(truncate(text, width)).toBe(want);
    expect(textWidth(truncate(text, width))).toBeLessThanOrEqual(width);
  });
});

describe('wrap', () => {
  it('breaks between words, and never a word', () => {
    expect(wrap('the quick  brown\nfox', 9)).toEqual(['the quick', 'brown fox']);
    expect(wrap('unbreakable a', 5)).toEqual(['unbreakable', 'a']);
    expect(wrap('', 5)).toEqual([]);
  });
});
