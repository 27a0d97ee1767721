import { expect, test } from 'vitest';
import { createInTurn } from '../../../bench/in-turn.ts';

function rig() {
  const begun: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<void>>();
  const turns = createInTurn<string>();
  return {
    begun,
    turns,
    run(key: string, name: string) {
      const end = Promise.withResolvers<void>();
      ends.set(name, end);
      return turns.run(key, () => {
        begun.push(name);
        return end.promise;
      });
    },
    end: (name: string) => ends.get(name)?.resolve(),
    fail: (name: string) => ends.get(name)?.reject(new Error(name)),
  };
}

test('what is asked for under one key goes one after the other, and keys side by side', async () => {
  const { begun, run, end, turns } = rig();
  const first = run('a', 'a1');
  const second = run('a', 'a2');
  void run('b', 'b1');
  expect(begun).toEqual(['a1', 'b1']);
  end('a1');
  await first;
  await Promise.resolve();
  expect(begun).toEqual(['a1', 'b1', 'a2']);
  end('a2');
  end('b1');
  await second;
  await turns.ended();
});

test('after a failure the key stands still, and the end says so', async () => {
  const { begun, run, fail, turns } = rig();
  void run('a', 'a1').catch(() => undefined);
  void run('a', 'a2').catch(() => undefined);
  fail('a1');
  await expect(turns.ended()).rejects.toThrow('a1');
  expect(begun).toEqual(['a1']);
});
