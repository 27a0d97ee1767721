import { create, fromBinary } from '@bufbuild/protobuf';
import { describe, expect, test } from 'vitest';
import { MetadataSchema } from '../../../src/gen/envoy/config/core/v3/base_pb.js';
import { EndpointSchema, LbEndpointSchema } from '../../../src/gen/envoy/config/endpoint/v3/endpoint_components_pb.js';
import { encodeWith } from '../../../src/lib/encode-with.ts';
import { createEncoder, encode, type RawPatch, sameResource, whole } from '../../../src/translate/encode.ts';
import { createFragmentCache } from '../../../src/translate/fragment-cache.ts';
import { writeField } from '../../../src/translate/splice.ts';
import { decodeResource, typeUrls } from '../../../src/xds/index.ts';

describe('encode', () => {
  const struct = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, name]));

  test('map entries have one order, however deep they stand', () => {
    const metadata = (names: readonly string[]) =>
      create(LbEndpointSchema, {
        metadata: create(MetadataSchema, {
          filterMetadata: Object.fromEntries(names.map((name) => [name, struct(names)])),
        }),
      });
    const bytes = encode(LbEndpointSchema, metadata(['b', 'a', 'c']));
    expect(bytes).toEqual(encode(LbEndpointSchema, metadata(['c', 'b', 'a'])));
    const decoded = fromBinary(LbEndpointSchema, bytes);
    expect(Object.keys(decoded.metadata?.filterMetadata ?? {})).toEqual(['a', 'b', 'c']);
  });
});

describe('resources', () => {
  const outline = { type: typeUrls.endpoint, name: 'default/web', audience: 'fleet/edge' };
  const origin = { unit: 'BackendPool/default/web', generation: 3 };
  const endpoint = () => create(EndpointSchema, { hostname: 'a' });

  test('say their name and version on the wire', () => {
    const resource = createEncoder(undefined).plain(outline, origin, EndpointSchema, whole(EndpointSchema, endpoint()));
    const wire = decodeResource(resource.bytes);
    expect(wire).toMatchObject({ ok: true, value: { name: 'default/web', version: resource.hash } });
    expect(resource.parts).toEqual([{ ...origin, hash: resource.hash }]);
  });

  test('can be patched before they are encoded, composites too', () => {
    const patch: RawPatch = (type, name, message) => {
      if (type === typeUrls.endpoint && name === 'default/web') message['hostname'] = 'b';
    };
    const encoder = createEncoder(patch);
    const want = encode(EndpointSchema, create(EndpointSchema, { hostname: 'b' }));
    const plain = encoder.plain(outline, origin, EndpointSchema, whole(EndpointSchema, endpoint()));
    const composite = encoder.composite(outline, [], EndpointSchema, whole(EndpointSchema, endpoint()));
    for (const { bytes } of [plain, composite]) expect(decodeResource(bytes)).toMatchObject({ value: { value: want } });
  });

  test.each([
    ['a generation', { parts: [{ unit: 'u', generation: 2, hash: 'h' }] }, false],
    ['a need', { needs: [{ type: typeUrls.cluster, name: 'default/web' }] }, false],
    ['the audience', { audience: 'fleet/inner' }, false],
    ['the content', { hash: 'other' }, false],
    ['the time to warm', { warmupMs: 2000 }, false],
    ['nothing', {}, true],
  ])('are another when %s is', (_what, change, same) => {
    const base = {
      ...outline,
      needs: [],
      parts: [{ unit: 'u', generation: 1, hash: 'h' }],
      hash: 'h',
      bytes: new Uint8Array(),
    };
    expect(sameResource(base, { ...base, parts: [...base.parts], ...change })).toBe(same);
  });
});

test('pieces join to the message that has them', () => {
  const joined = encodeWith((to) => {
    for (const hostname of ['a', 'b']) {
      writeField(to, 1, whole(EndpointSchema, create(EndpointSchema, { hostname })));
    }
  });
  // The second of a singular message field is merged into the first.
  expect(fromBinary(LbEndpointSchema, joined).hostIdentifier.value).toMatchObject({ hostname: 'b' });
});

describe('fragment cache', () => {
  test('makes once, keeps what is asked for, forgets what is not', () => {
    const cache = createFragmentCache(2);
    const made: string[] = [];
    const get = (key: string) =>
      cache.get(key, () => {
        made.push(key);
        return new Uint8Array();
      });
    for (const key of ['a', 'a', 'b', 'a', 'c', 'a', 'd', 'a', 'e', 'a']) get(key);
    expect(made).toEqual(['a', 'b', 'c', 'd', 'e']);
    get('b');
    expect(made.at(-1)).toBe('b');
  });
});
