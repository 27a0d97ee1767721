import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { AnySchema } from '@bufbuild/protobuf/wkt';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
  ResourceSchema,
} from '../../../src/gen/envoy/service/discovery/v3/discovery_pb.js';
import { decodeResource, encodeNode, encodeResource, joinFrame } from '../../../src/xds/index.ts';
import {
  decodeDeltaRequest,
  decodeDeltaResponse,
  encodeDeltaRequest,
  frameResponse,
  resourceHead,
  responseHead,
} from '../../../src/xds/wire.ts';

const text = fc.string({ unit: 'grapheme', maxLength: 300 });
const bytes = fc.uint8Array({ maxLength: 300 });
const names = fc.array(text, { maxLength: 5 });

describe('requests', () => {
  const request = fc.record({
    typeUrl: text,
    subscribe: names,
    unsubscribe: names,
    initialVersions: fc.dictionary(text, text, { maxKeys: 5, noNullPrototype: true }),
    nonce: text,
    error: fc.option(fc.record({ code: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), message: text }), {
      nil: undefined,
    }),
  });

  it('are read as the generated code writes them', () => {
    fc.assert(
      fc.property(request, ({ typeUrl, subscribe, unsubscribe, initialVersions, nonce, error }) => {
        const message = create(DeltaDiscoveryRequestSchema, {
          typeUrl,
          resourceNamesSubscribe: subscribe,
          resourceNamesUnsubscribe: unsubscribe,
          initialResourceVersions: initialVersions,
          responseNonce: nonce,
          ...(error === undefined ? {} : { errorDetail: error }),
        });
        const decoded = decodeDeltaRequest(toBinary(DeltaDiscoveryRequestSchema, message));
        const want = { node: undefined, typeUrl, subscribe, unsubscribe, nonce, error };
        expect(decoded).toEqual({
          ok: true,
          value: { ...want, initialVersions: new Map(Object.entries(initialVersions)) },
        });
      }),
    );
  });

  it('are written as the generated code reads them', () => {
    fc.assert(
      fc.property(request, ({ initialVersions, ...rest }) => {
        const written = encodeDeltaRequest({ ...rest, initialVersions: new Map(Object.entries(initialVersions)) });
        const message = fromBinary(DeltaDiscoveryRequestSchema, written);
        expect(message).toMatchObject({
          typeUrl: rest.typeUrl,
          resourceNamesSubscribe: rest.subscribe,
          resourceNamesUnsubscribe: rest.unsubscribe,
          initialResourceVersions: initialVersions,
          responseNonce: rest.nonce,
        });
        expect(message.errorDetail?.message).toBe(rest.error?.message);
      }),
    );
  });

  it('keep of the node what is of use and skip its extensions', () => {
    const message = create(DeltaDiscoveryRequestSchema, {
      typeUrl: 't',
      node: {
        id: 'n1',
        cluster: 'edge',
        locality: { region: 'r', zone: 'z', subZone: 's' },
        metadata: {
          text: 'a',
          number: 1.5,
          yes: true,
          none: null,
          list: [1, 'b', [false]],
          inner: { deep: { er: 2 } },
        },
        userAgentName: 'envoy',
        userAgentVersionType: {
          case: 'userAgentBuildVersion',
          value: { version: { majorNumber: 1, minorNumber: 40, patch: 2 }, metadata: { 'build.type': 'RELEASE' } },
        },
        extensions: Array.from({ length: 500 }, (_, at) => ({
          name: `envoy.filters.http.f${at}`,
          category: 'c',
          typeUrls: ['t'],
        })),
        clientFeatures: ['envoy.lb.does_not_support_overprovisioning'],
      },
    });
    const decoded = decodeDeltaRequest(toBinary(DeltaDiscoveryRequestSchema, message));
    expect(decoded.ok && decoded.value.node).toEqual({
      id: 'n1',
      cluster: 'edge',
      locality: { region: 'r', zone: 'z', subZone: 's' },
      metadata: { text: 'a', number: 1.5, yes: true, none: null, list: [1, 'b', [false]], inner: { deep: { er: 2 } } },
      userAgent: 'envoy',
      version: '1.40.2',
      clientFeatures: ['envoy.lb.does_not_support_overprovisioning'],
    });
  });

  it('bring a node back as it was written', () => {
    const node = {
      id: 'n1',
      cluster: 'edge',
      locality: { region: 'r', zone: '', subZone: '' },
      metadata: { a: [{ b: 'c' }], __proto__: null, d: -0.5 },
      userAgent: 'agent',
      version: '3.2.1',
      clientFeatures: ['x'],
    };
    const decoded = decodeDeltaRequest(encodeDeltaRequest({ typeUrl: 't', node: encodeNode(node) }));
    expect(decoded.ok && decoded.value.node).toEqual(node);
  });

  it('do not let a client park megabytes in the metadata, nor nest without end', () => {
    const large = encodeNode({ id: 'n1', metadata: { large: 'x'.repeat(100_000) } });
    const decoded = decodeDeltaRequest(encodeDeltaRequest({ typeUrl: 't', node: large }));
    expect(decoded.ok && decoded.value.node).toMatchObject({ id: 'n1', metadata: {} });
    let metadata = {};
    for (let depth = 0; depth < 200; depth++) metadata = { a: metadata };
    const deep = decodeDeltaRequest(encodeDeltaRequest({ typeUrl: 't', node: encodeNode({ id: 'n1', metadata }) }));
    expect(deep).toEqual({ ok: false, error: 'metadata nests too deep' });
  });

  it.each([
    ['a length beyond the end', [0x12, 0x7f, 0x61]],
    ['half a tag', [0x92]],
    ['a name that is no UTF-8', [0x1a, 2, 0xc3, 0x28]],
    ['a field number of 0', [0x02, 0x00]],
    ['an unknown wire type', [0x0f]],
    ['a version whose entry is cut', [0x2a, 2, 0x0a, 0x05]],
  ])('that are malformed are an error and no throw: %s', (_name, input) => {
    expect(decodeDeltaRequest(Uint8Array.from(input))).toMatchObject({ ok: false, error: expect.any(String) });
  });

  it('never throw, whatever comes', () => {
    fc.assert(
      fc.property(bytes, (input) => {
        expect([true, false]).toContain(decodeDeltaRequest(input).ok);
        expect([true, false]).toContain(decodeDeltaResponse(input).ok);
        expect([true, false]).toContain(decodeResource(input).ok);
      }),
    );
  });

  it('with fields nobody knows yet are read', () => {
    const unknown = Uint8Array.of(
      0xa0,
      0x06,
      1,
      0xaa,
      0x06,
      1,
      0,
      0xb5,
      0x06,
      0,
      0,
      0,
      0,
      0xb9,
      0x06,
      0,
      0,
      0,
      0,
      0,
      0,
      0,
      0,
    );
    const known = encodeDeltaRequest({ typeUrl: 't', nonce: 'n' });
    const decoded = decodeDeltaRequest(Uint8Array.of(...unknown, ...known, ...unknown));
    expect(decoded.ok && [decoded.value.typeUrl, decoded.value.nonce]).toEqual(['t', 'n']);
  });
});

describe('resources', () => {
  it('are encoded byte for byte like the generated code', () => {
    fc.assert(
      fc.property(text, text, text, bytes, (name, version, typeUrl, value) => {
        fc.pre(name !== '' && version !== '' && typeUrl !== '' && value.byteLength > 0);
        const message = create(ResourceSchema, { name, version, resource: create(AnySchema, { typeUrl, value }) });
        const encoded = encodeResource(name, version, typeUrl, value);
        expect(encoded).toEqual(toBinary(ResourceSchema, message));
        expect(decodeResource(encoded)).toEqual({ ok: true, value: { name, version, typeUrl, value } });
      }),
    );
  });
});

describe('responses', () => {
  const asciiNonce = fc.string({ unit: 'grapheme-ascii', maxLength: 127 });
  const response = fc.record({
    head: fc.record({ typeUrl: text, nonce: asciiNonce, removed: names, systemVersion: text, controlPlane: text }),
    resources: fc.array(fc.record({ name: text, version: text, typeUrl: text, value: bytes }), { maxLength: 5 }),
  });

  it('are read by the generated code as they were framed, and by the client', () => {
    fc.assert(
      fc.property(response, ({ head, resources }) => {
        const encoded = resources.map(({ name, version, typeUrl, value }) =>
          encodeResource(name, version, typeUrl, value),
        );
        const frame = frameResponse(
          responseHead(head),
          head,
          encoded.flatMap((one) => [resourceHead(one.byteLength), one]),
        );
        const joined = joinFrame(frame);
        expect(joined.byteLength).toBe(frame.sizeBytes);
        const message = fromBinary(DeltaDiscoveryResponseSchema, joined);
        expect(message).toMatchObject({
          typeUrl: head.typeUrl,
          nonce: head.nonce,
          removedResources: head.removed,
          systemVersionInfo: head.systemVersion,
          controlPlane: { identifier: head.controlPlane },
        });
        expect(message.resources.map(({ name, version, resource }) => ({ name, version, ...resource }))).toMatchObject(
          resources,
        );
        expect(decodeDeltaResponse(joined)).toEqual({ ok: true, value: { ...head, resources } });
      }),
    );
  });

  it('share the bytes of their resources', () => {
    const shared = encodeResource('c1', '1', 't', new Uint8Array(1_000));
    const head = responseHead({ typeUrl: 't', systemVersion: '1', controlPlane: 'c' });
    const frame = frameResponse(head, { nonce: 'n', removed: [] }, [resourceHead(shared.byteLength), shared]);
    expect(frame.chunks[0]).toBe(head);
    expect(frame.chunks.at(-1)).toBe(shared);
    expect(frame.sizeBytes - shared.byteLength).toBeLessThan(30);
  });
});
