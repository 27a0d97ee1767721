import { expect, test } from 'vitest';
import { usableControllers } from '../../../src/cli/controller-addresses.ts';

const far = ['c1.example:7601', '192.0.2.2:7601', '[2001:db8::3]:7601'];

test.each<[string, unknown, string, readonly string[] | undefined]>([
  ['all of a cluster', far, 'c1.example', ['c1.example', '192.0.2.2', '2001:db8::3']],
  ['those of one machine, on that machine', ['127.0.0.1:1', '127.0.0.1:2'], '127.0.0.1', ['127.0.0.1', '127.0.0.1']],
  ['those of one machine, on another', ['127.0.0.1:1', '127.0.0.1:2'], 'c1.example', undefined],
  ['one alone', ['c1.example:7601'], 'c1.example', undefined],
  ['none', [], 'c1.example', undefined],
  ['a server that tells nothing', undefined, 'c1.example', undefined],
  ['what is no address', ['c1.example:7601', 7], 'c1.example', undefined],
])('%s', (_, told, server, want) => {
  expect(usableControllers(told, server)?.map(({ host }) => host)).toEqual(want);
});
