import { afterAll, expect, test } from 'vitest';
import { createBodies } from '../../src/api/body.ts';

// Small bodies are read at once, large ones by a thread: what comes out is the same.

const bodies = createBodies();
afterAll(() => bodies.close());

const yaml = (count: number, last: string): Buffer => {
  const documents = Array.from({ length: count }, (_, n) => `kind: Thing\nname: thing-${n}\nlist: [1, 2, 3]`);
  return Buffer.from([...documents, last].join('\n---\n'));
};

const read = (bytes: Buffer, contentType = 'application/yaml') => bodies.values({ bytes, contentType });

test('a large manifest has all its documents, in order', async () => {
  const [small, large] = await Promise.all([read(yaml(2, 'kind: Last')), read(yaml(900, 'kind: Last'))]);
  expect(small).toHaveLength(3);
  expect(large).toHaveLength(901);
  expect(large.slice(0, 2)).toEqual(small.slice(0, 2));
  expect(large.at(-1)).toEqual({ kind: 'Last' });
});

test('several large manifests at once do not get mixed up', async () => {
  const counts = [400, 500, 600];
  const all = await Promise.all(counts.map((count) => read(yaml(count, `kind: Last${count}`))));
  expect(all.map((values) => values.at(-1))).toEqual(counts.map((count) => ({ kind: `Last${count}` })));
});

test('a fault in a large manifest is named by its line', async () => {
  const error = await read(yaml(900, 'kind: [unfinished')).catch((cause: unknown) => cause);
  expect(error).toMatchObject({ code: 'MalformedBody', message: expect.stringMatching(/line 360\d/) });
});

test('large JSON comes out the same, and a fault in it is named too', async () => {
  const value = { list: Array.from({ length: 20_000 }, (_, n) => `item-${n}`) };
  const text = JSON.stringify(value);
  expect(await read(Buffer.from(text), 'application/json')).toEqual([value]);
  const cut = Buffer.from(`${text.slice(0, -2)}`);
  await expect(read(cut, 'application/json')).rejects.toMatchObject({ code: 'MalformedBody' });
});

test('the thread can be ended and begins again', async () => {
  await bodies.close();
  expect(await read(yaml(900, 'kind: Last'))).toHaveLength(901);
});
