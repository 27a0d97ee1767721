import { diff as lineDiff } from 'node:util';
import type { Paint } from './colour.ts';
import { printable } from './text.ts';

type Op = 'same' | 'removed' | 'added';

interface Line {
  readonly op: Op;
  readonly text: string;
}

/** Lines that are shown around each change. */
const contextLines = 3;

/**
 * Beyond so many lines between the first and the last difference the shortest edit is not looked for: its cost grows
 * with the square, and nobody reads it.
 */
const maxComparedLines = 4000;

/** A unified diff of two texts without its header; empty when they are equal. */
export function unifiedDiff(before: string, after: string, paint: Paint): string {
  const lines = compare(toLines(before), toLines(after));
  return hunks(lines)
    .map((hunk) => renderHunk(lines, hunk, paint))
    .join('');
}

function toLines(text: string): string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

function compare(before: readonly string[], after: readonly string[]): Line[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let end = 0;
  const most = Math.min(before.length, after.length) - start;
  while (end < most && before[before.length - 1 - end] === after[after.length - 1 - end]) end++;
  const same = (text: string): Line => ({ op: 'same', text });
  const middle = edit(before.slice(start, before.length - end), after.slice(start, after.length - end));
  return [...before.slice(0, start).map(same), ...middle, ...before.slice(before.length - end).map(same)];
}

function edit(before: readonly string[], after: readonly string[]): Line[] {
  if (before.length === 0 || after.length === 0 || before.length + after.length > maxComparedLines) {
    return [
      ...before.map((text): Line => ({ op: 'removed', text })),
      ...after.map((text): Line => ({ op: 'added', text })),
    ];
  }
  return lineDiff(before, after).map(([op, text]) => ({
    op: op === 0 ? 'same' : op === 1 ? 'removed' : 'added',
    text,
  }));
}

/** Ranges `[from, to)` of lines: every change with its surroundings, joined where they touch. */
function hunks(lines: readonly Line[]): [from: number, to: number][] {
  const found: [number, number][] = [];
  for (const [i, line] of lines.entries()) {
    if (line.op === 'same') continue;
    const from = Math.max(0, i - contextLines);
    const to = Math.min(lines.length, i + contextLines + 1);
    const last = found.at(-1);
    if (last !== undefined && from <= last[1]) last[1] = to;
    else found.push([from, to]);
  }
  return found;
}

function renderHunk(lines: readonly Line[], [from, to]: readonly [number, number], paint: Paint): string {
  const counted = (range: readonly Line[], without: Op) => range.filter(({ op }) => op !== without).length;
  const head = lines.slice(0, from);
  const body = lines.slice(from, to);
  const range = (without: Op) => {
    const length = counted(body, without);
    // An empty range names the line before it (POSIX diff -u).
    return `${counted(head, without) + (length === 0 ? 0 : 1)},${length}`;
  };
  const text = body.map(({ op, text }) => {
    const safe = printable(text);
    if (op === 'same') return ` ${safe}\n`;
    return op === 'removed' ? `${paint('bad', `-${safe}`)}\n` : `${paint('good', `+${safe}`)}\n`;
  });
  return `${paint('accent', `@@ -${range('added')} +${range('removed')} @@`)}\n${text.join('')}`;
}
