import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Paint } from '../../../src/cli/output/colour.ts';
import { unifiedDiff } from '../../../src/cli/output/diff.ts';

const plain: Paint = (_tone, text) => text;
const lines = (...all: readonly string[]) => all.map((line) => `${line}\n`).join('');

describe('unifiedDiff', () => {
  it('says nothing about equal texts', () => {
    expect(unifiedDiff('a\nb\n', 'a\nb\n', plain)).toBe('');
  });

  it('shows three lines around a change', () => {
    const before = lines('1', '2', '3', '4', '5', '6', '7', '8', '9');
    expect(unifiedDiff(before, before.replace('5', 'five'), plain)).toBe(
      lines('@@ -2,7 +2,7 @@', ' 2', ' 3', ' 4', '-5', '+five', ' 6', ' 7', ' 8'),
    );
  });

  it('joins changes that are near and parts those that are far', () => {
    const numbers = Array.from({ length: 30 }, (_, i) => String(i + 1));
    const changed = (...which: number[]) => lines(...numbers.map((n) => (which.includes(Number(n)) ? `${n}!` : n)));
    const count = (text: string) => text.match(/^@@/gm)?.length;
    expect(count(unifiedDiff(changed(), changed(5, 11), plain))).toBe(1);
    expect(count(unifiedDiff(changed(), changed(5, 25), plain))).toBe(2);
  });

  it('numbers an addition to nothing and a removal of all as diff does', () => {
    expect(unifiedDiff('', 'a\nb\n', plain)).toBe(lines('@@ -0,0 +1,2 @@', '+a', '+b'));
    expect(unifiedDiff('a\nb\n', '', plain)).toBe(lines('@@ -1,2 +0,0 @@', '-a', '-b'));
  });

  it('is quick about texts that have nothing in common', () => {
    const many = (word: string) => lines(...Array.from({ length: 5000 }, (_, i) => `${word}${i}`));
    expect(unifiedDiff(many('a'), many('b'), plain).split('\n')).toHaveLength(10_002);
  });

  it('turns the one text into the other when it is applied', () => {
    const text = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 30 });
    fc.assert(
      fc.property(text, text, (before, after) => {
        expect(patch(before, unifiedDiff(lines(...before), lines(...after), plain))).toEqual(after);
      }),
    );
  });
});

/** A second reader of the format: applies a unified diff. */
function patch(before: readonly string[], diff: string): readonly string[] {
  const result: string[] = [];
  let at = 0;
  for (const line of diff.split('\n').slice(0, -1)) {
    const header = /^@@ -(\d+),(\d+) /.exec(line);
    if (header !== null) {
      const start = Number(header[1]) - (header[2] === '0' ? 0 : 1);
      while (at < start) result.push(before[at++] as string);
    } else if (line.startsWith('+')) {
      result.push(line.slice(1));
    } else {
      expect(line.slice(1)).toBe(before[at]);
      if (line.startsWith(' ')) result.push(line.slice(1));
      at++;
    }
  }
  return [...result, ...before.slice(at)];
}
