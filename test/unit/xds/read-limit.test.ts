import { describe, expect, it } from 'vitest';
import { createReadLimit } from '../../../src/xds/io/read-limit.ts';

const kB = 1024;
const mB = 1024 * kB;

describe('what is read before the loop has taken it', () => {
  it('is a megabyte of one client, after each pause anew', () => {
    const limit = createReadLimit({ mark: () => undefined });
    const client = { sinceBytes: 0 };
    const paused = Array.from({ length: 20 }, () => limit.read(client, 100 * kB) === 'pause');
    expect(paused.flatMap((is, at) => (is ? [at] : []))).toEqual([10]);
  });

  it('does not count what others send, while the loop keeps up', () => {
    const limit = createReadLimit({ mark: () => limit.passed() });
    for (let n = 0; n < 1_000; n += 1) expect(limit.read({ sinceBytes: 0 }, mB - 1)).toBe('on');
  });

  it('is one message of each client once the loop is 16 MiB behind, until it comes to a mark', () => {
    let marks = 0;
    const limit = createReadLimit({
      mark() {
        marks += 1;
      },
    });
    const read = (): string => limit.read({ sinceBytes: 0 }, mB / 2);
    for (let sent = 0; sent < 31; sent += 1) expect(read()).toBe('on');
    expect([read(), read(), marks]).toEqual(['pause', 'pause', 4]);
    limit.passed();
    expect(read()).toBe('on');
  });
});
