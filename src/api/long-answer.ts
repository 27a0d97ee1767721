import { Readable } from 'node:stream';
import { nextTurn } from '../lib/next-turn.ts';

/** Items turned into text in one turn of the event loop: a few milliseconds of work. */
const itemsPerTurn = 100;

/**
 * Text with a list in it: `head`, the items with commas between them, and `tail`. A long one is written in slices, so that
 * nobody else waits for it. `separator` is the comma, with what space it wants.
 */
export function longAnswer<T>(
  head: string,
  items: readonly T[],
  textOf: (item: T) => string,
  tail: string,
  separator = ',',
): string | Readable {
  const text = (some: readonly T[]): string => some.map(textOf).join(separator);
  if (items.length <= itemsPerTurn) return `${head}${text(items)}${tail}`;
  return Readable.from(slices(head, items, text, tail, separator), { objectMode: false });
}

async function* slices<T>(
  head: string,
  items: readonly T[],
  text: (some: readonly T[]) => string,
  tail: string,
  separator: string,
): AsyncGenerator<string> {
  let lead = head;
  for (let start = 0; start < items.length; start += itemsPerTurn) {
    yield lead + text(items.slice(start, start + itemsPerTurn));
    lead = separator;
    await nextTurn();
  }
  yield tail;
}
