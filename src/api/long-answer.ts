import { Readable } from 'node:stream';
import { nextTurn } from '../lib/next-turn.ts';

/** Items, or characters of them, that are turned into text in one turn of the event loop: a few milliseconds of work. */
const itemsPerTurn = 100;
const charactersPerTurn = 512 * 1024;

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
  const sliceFrom = (start: number): Slice => {
    const texts: string[] = [];
    let characters = 0;
    for (const item of items.slice(start, start + itemsPerTurn)) {
      const text = textOf(item);
      texts.push(text);
      characters += text.length;
      if (characters >= charactersPerTurn) break;
    }
    return { text: texts.join(separator), end: start + texts.length };
  };
  const first = sliceFrom(0);
  if (first.end === items.length) return `${head}${first.text}${tail}`;
  return Readable.from(slices(head, first, sliceFrom, { count: items.length, tail, separator }), { objectMode: false });
}

interface Slice {
  readonly text: string;
  /** The item that comes next. */
  readonly end: number;
}

async function* slices(
  head: string,
  first: Slice,
  sliceFrom: (start: number) => Slice,
  { count, tail, separator }: { readonly count: number; readonly tail: string; readonly separator: string },
): AsyncGenerator<string> {
  yield head + first.text;
  for (let slice = first; slice.end < count; ) {
    await nextTurn();
    slice = sliceFrom(slice.end);
    yield separator + slice.text;
  }
  yield tail;
}
