import { expect, it } from 'vitest';
import { inNextTurn, nextTurn } from '../../../src/lib/next-turn.ts';

it('runs one slice in a turn of the event loop, in order', async () => {
  const log: string[] = [];
  for (const name of ['a', 'b', 'c']) inNextTurn(() => log.push(name));
  const perTurn: string[] = [];
  for (let turn = 0; turn < 4; turn += 1) {
    await new Promise<void>((resolve) => setImmediate(resolve));
    perTurn.push(log.splice(0).join(''));
  }
  expect(perTurn).toEqual(['a', 'b', 'c', '']);
});

it('lets who asks again wait for all others', async () => {
  const log: string[] = [];
  const work = async (name: string): Promise<void> => {
    for (let slice = 0; slice < 3; slice += 1) {
      await nextTurn();
      log.push(name);
    }
  };
  await Promise.all([work('a'), work('b')]);
  expect(log.join('')).toBe('ababab');
});

it('goes on after a slice that throws', async () => {
  const failed = new Promise((resolve) => process.prependOnceListener('uncaughtException', resolve));
  const others = process.listeners('uncaughtException').slice(1);
  for (const other of others) process.off('uncaughtException', other as never);
  inNextTurn(() => {
    throw new Error('a bug');
  });
  const next = nextTurn();
  expect(String(await failed)).toBe('Error: a bug');
  for (const other of others) process.on('uncaughtException', other as never);
  await next;
});
