import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MessageReader } from '../../../src/xds/io/message-reader.ts';

function framed(message: Uint8Array, compressed = 0): Buffer {
  const head = Buffer.from([compressed, 0, 0, 0, 0]);
  head.writeUInt32BE(message.byteLength, 1);
  return Buffer.concat([head, message]);
}

/** Bytes cut at the given places. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const ends = [...new Set(places.map((place) => place % (bytes.byteLength + 1)))].sort((a, b) => a - b);
  return [0, ...ends].map((from, at) => bytes.subarray(from, ends[at] ?? bytes.byteLength));
}

describe('MessageReader', () => {
  it('reads the same messages wherever their bytes are cut', () => {
    const messages = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 6 });
    fc.assert(
      fc.property(messages, fc.array(fc.nat(), { maxLength: 20 }), (sent, places) => {
        const reader = new MessageReader(100);
        const read: string[] = [];
        for (const chunk of cut(Buffer.concat(sent.map((message) => framed(message))), places)) {
          expect(reader.take(chunk, (message) => read.push(message.toString('hex')))).toBeUndefined();
        }
        expect(read).toEqual(sent.map((message) => Buffer.from(message).toString('hex')));
      }),
    );
  });

  it.each([
    ['a message that is too large', framed(new Uint8Array(101)), 'too-large'],
    ['a compressed message', framed(new Uint8Array(3), 1), 'compressed'],
  ] as const)('refuses %s by its first five bytes', (_name, bytes, fault) => {
    const whole = new MessageReader(100);
    expect(whole.take(bytes, () => expect.unreachable())).toBe(fault);
    const split = new MessageReader(100);
    expect(split.take(bytes.subarray(0, 4), () => expect.unreachable())).toBeUndefined();
    expect(split.take(bytes.subarray(4, 5), () => expect.unreachable())).toBe(fault);
  });

  it('hands on what came before a fault', () => {
    const read: number[] = [];
    const reader = new MessageReader(100);
    const bytes = Buffer.concat([framed(Uint8Array.of(7)), framed(new Uint8Array(101))]);
    expect(reader.take(bytes, (message) => read.push(...message))).toBe('too-large');
    expect(read).toEqual([7]);
  });
});
