import { expect, it } from 'vitest';
import { createControllerKey, isSignedBy } from '../../../src/pki/index.ts';

const bytes = Buffer.from('{"from":"a"}');

it('what a key has signed is known by its public half', () => {
  const key = createControllerKey();
  expect(isSignedBy(key.publicKey, bytes, key.sign(bytes))).toBe(true);
});

it.each([
  ['another text', (key: string, signature: string) => isSignedBy(key, Buffer.from('{"from":"b"}'), signature)],
  ['another key', (_key: string, signature: string) => isSignedBy(createControllerKey().publicKey, bytes, signature)],
  ['no key', (_key: string, signature: string) => isSignedBy('', bytes, signature)],
  ['no signature', (key: string) => isSignedBy(key, bytes, '')],
  ['a signature cut short', (key: string, signature: string) => isSignedBy(key, bytes, signature.slice(1))],
])('%s is not', (_what, holds) => {
  const key = createControllerKey();
  expect(holds(key.publicKey, key.sign(bytes))).toBe(false);
});
