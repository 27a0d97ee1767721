import { expect, it } from 'vitest';
import { readLines } from '../../../src/cli/lines.ts';

async function split(...chunks: readonly (string | readonly number[])[]): Promise<string[]> {
  const lines: string[] = [];
  async function* bytes() {
    for (const chunk of chunks)
      yield typeof chunk === 'string' ? new TextEncoder().encode(chunk) : Uint8Array.from(chunk);
  }
  for await (const line of readLines(bytes())) lines.push(line);
  return lines;
}

it('gives whole lines however the bytes arrive', async () => {
  expect(await split('a\nb', 'c\n\n', 'd\n')).toEqual(['a', 'bc', 'd']);
  // An umlaut that is cut in two.
  expect(await split([0xc3], [0xbc, 0x0a])).toEqual(['ü']);
});

it('does not give a line that was cut off', async () => {
  expect(await split('{"a":1}\n{"b"')).toEqual(['{"a":1}']);
});
