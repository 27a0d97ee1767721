import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalIp, formatIp, isGroupAddress, isMappedIpv4, isUnspecified, parseIp } from '../../../src/lib/ip.ts';

describe('canonical text', () => {
  test.each<[string, string | undefined]>([
    ['0.0.0.0', '0.0.0.0'],
    ['203.0.113.10', '203.0.113.10'],
    ['255.255.255.255', '255.255.255.255'],
    ['::', '::'],
    ['::1', '::1'],
    ['1::', '1::'],
    ['2001:DB8::1', '2001:db8::1'],
    ['2001:0db8:0000:0000:0000:0000:0000:0001', '2001:db8::1'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:0:0:1:0:0:0:1', '2001:0:0:1::1'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['0:0:0:0:0:0:0:1', '::1'],
    ['fe80:0:0:0:0:0:0:0', 'fe80::'],
    ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
    ['::ffff:192.0.2.1', '::ffff:192.0.2.1'],
    ['::ffff:c000:201', '::ffff:192.0.2.1'],
    ['64:ff9b::192.0.2.1', '64:ff9b::c000:201'],
    ['', undefined],
    ['1.2.3', undefined],
    ['1.2.3.4.5', undefined],
    ['1.2.3.256', undefined],
    ['1.2.3.04', undefined],
    ['1.2.3.-4', undefined],
    ['1.2.3.4 ', undefined],
    ['0x7f.1.1.1', undefined],
    ['1.2.3.4/24', undefined],
    ['fe80::1%eth0', undefined],
    ['[::1]', undefined],
    [':::', undefined],
    ['1::2::3', undefined],
    ['1:2:3:4:5:6:7', undefined],
    ['1:2:3:4:5:6:7:8:9', undefined],
    ['1:2:3:4:5:6:7:8::', undefined],
    ['12345::', undefined],
    ['g::', undefined],
    ['1.2.3.4::', undefined],
    ['::1.2.3', undefined],
    [':1:2:3:4:5:6:7', undefined],
  ])('%s', (text, want) => {
    expect(canonicalIp(text)).toBe(want);
  });
});

test('any address survives being written and read', () => {
  const ip = fc.oneof(
    fc.bigInt({ min: 0n, max: 2n ** 32n - 1n }).map((value) => ({ family: 4 as const, value })),
    fc.bigInt({ min: 0n, max: 2n ** 128n - 1n }).map((value) => ({ family: 6 as const, value })),
    // Addresses with runs of zeros.
    fc.array(fc.constantFrom(0n, 0n, 1n, 0xffffn), { minLength: 8, maxLength: 8 }).map((groups) => ({
      family: 6 as const,
      value: groups.reduce<bigint>((value, group) => (value << 16n) | group, 0n),
    })),
  );
  fc.assert(
    fc.property(ip, (address) => {
      expect(parseIp(formatIp(address))).toEqual(address);
    }),
  );
});

test('reading never throws', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('0', '1', 'f', ':', '.', '::', '%', ' ', 'x') }), (text) => {
      const ip = parseIp(text);
      if (ip !== undefined) expect(parseIp(formatIp(ip))).toEqual(ip);
    }),
  );
});

describe('what kind of address it is', () => {
  test.each<[string, { unspecified?: true; group?: true; mapped?: true }]>([
    ['0.0.0.0', { unspecified: true }],
    ['::', { unspecified: true }],
    ['223.255.255.255', {}],
    ['224.0.0.1', { group: true }],
    ['239.1.2.3', { group: true }],
    ['240.0.0.1', {}],
    ['255.255.255.255', { group: true }],
    ['ff02::1', { group: true }],
    ['fe80::1', {}],
    ['::ffff:1.2.3.4', { mapped: true }],
    ['::1.2.3.4', {}],
  ])('%s', (text, want) => {
    const ip = parseIp(text);
    if (ip === undefined) throw new Error(`${text} is no address`);
    expect({
      ...(isUnspecified(ip) && { unspecified: true }),
      ...(isGroupAddress(ip) && { group: true }),
      ...(isMappedIpv4(ip) && { mapped: true }),
    }).toEqual(want);
  });
});
