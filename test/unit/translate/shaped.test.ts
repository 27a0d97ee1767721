import { create } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type FilterChain,
  FilterChainSchema,
  FilterSchema,
} from '../../../src/gen/envoy/config/listener/v3/listener_components_pb.js';
import { TcpProxySchema } from '../../../src/gen/envoy/extensions/filters/network/tcp_proxy/v3/tcp_proxy_pb.js';
import { encodeWith } from '../../../src/lib/encode-with.ts';
import { encode, pack } from '../../../src/translate/encode.ts';
import { type Shaped, shaped } from '../../../src/translate/shaped.ts';

interface Names {
  readonly chain: string;
  readonly hosts: readonly string[];
  readonly tcp: { readonly cluster: string } | undefined;
}

/** Names in a repeated field, in a message inside an Any, beside numbers and texts of the shape. */
function message(suffix: string, { chain, hosts, tcp }: Names): FilterChain {
  const proxy =
    tcp &&
    create(TcpProxySchema, {
      statPrefix: tcp.cluster,
      clusterSpecifier: { case: 'cluster', value: tcp.cluster },
      maxConnectAttempts: 300,
    });
  return create(FilterChainSchema, {
    name: chain,
    filterChainMatch: { serverNames: [...hosts], transportProtocol: suffix, destinationPort: 443 },
    filters:
      proxy === undefined
        ? []
        : [
            create(FilterSchema, {
              name: suffix,
              configType: { case: 'typedConfig', value: pack(TcpProxySchema, proxy) },
            }),
          ],
  });
}

function written(write: Shaped<string, Names>, shape: string, names: Names): Uint8Array {
  return encodeWith((to) => write(to, shape, names));
}

// Lengths on both sides of what one and two bytes can say, characters of several bytes.
const text = fc.oneof(
  fc.string({ minLength: 1, maxLength: 20 }),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }),
  fc.constantFrom(127, 128, 16_383, 16_384).map((length) => 'x'.repeat(length)),
);
const names: fc.Arbitrary<Names> = fc.record({
  chain: text,
  hosts: fc.array(text, { maxLength: 3 }),
  tcp: fc.option(fc.record({ cluster: text }), { nil: undefined }),
});

describe('a shaped message', () => {
  test('has the bytes that it is encoded as, the first time and with names filled in', () => {
    fc.assert(
      fc.property(
        fc.array(names, { minLength: 1, maxLength: 8 }),
        fc.array(fc.constantFrom('a', 'tcp', 'ü')),
        (list, shapes) => {
          const write = shaped(FilterChainSchema, message);
          for (const shape of ['a', ...shapes]) {
            for (const one of [...list, ...list]) {
              const want = encode(FilterChainSchema, message(shape, one));
              expect(Buffer.compare(written(write, shape, one), want)).toBe(0);
            }
          }
        },
      ),
    );
  });

  test('is built anew for a new shape, and for new names once more at most', () => {
    let built = 0;
    const write = shaped(FilterChainSchema, (shape: string, given: Names) => {
      built += 1;
      return message(shape, given);
    });
    const one = (chain: string): Names => ({ chain, hosts: ['a', 'b'], tcp: { cluster: 'c' } });
    for (let at = 0; at < 10; at += 1) written(write, 'a', one(`n${at}`));
    expect(built).toBe(2);
    written(write, 'b', one('n'));
    written(write, 'a', { ...one('n'), hosts: ['a'] });
    written(write, 'a', { ...one('n'), tcp: undefined });
    expect(built).toBe(5);
  });

  test('holds nothing but holes in place of names: what looks like one in its shape is text', () => {
    const write = shaped(FilterChainSchema, message);
    for (const chain of ['n', 'o', 'p']) {
      const given: Names = { chain, hosts: [], tcp: undefined };
      const shape = '\uE0000\uE001';
      expect(written(write, shape, given)).toEqual(encode(FilterChainSchema, message(shape, given)));
    }
  });

  test('may be written while another one is', () => {
    const inner = shaped(FilterChainSchema, message);
    const given: Names = { chain: 'n', hosts: ['a'], tcp: undefined };
    const bytes = encodeWith((to) => {
      to.raw(written(inner, 'a', given));
      inner(to, 'a', given);
    });
    const once = encode(FilterChainSchema, message('a', given));
    expect(Buffer.from(bytes)).toEqual(Buffer.concat([once, once]));
  });

  test('that cannot be built leaves the writer for others', () => {
    const write = shaped(FilterChainSchema, (): FilterChain => {
      throw new Error('a bug');
    });
    expect(() => written(write, 'a', { chain: 'n', hosts: [], tcp: undefined })).toThrow('a bug');
    expect(encodeWith((to) => to.uint32(7))).toEqual(Uint8Array.of(7));
  });
});
