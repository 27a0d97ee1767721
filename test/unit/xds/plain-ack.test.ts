import { describe, expect, it } from 'vitest';
import { ackHeads, isPlainAck } from '../../../src/xds/plain-ack.ts';
import { type DeltaRequestInit, encodeDeltaRequest } from '../../../src/xds/wire.ts';
import { cluster, endpoint, needs, Rig, resource } from '../../support/xds-rig.ts';

const head = ackHeads.get(endpoint) as Uint8Array;
const ack = { typeUrl: endpoint, nonce: 'a1b2.7' };

describe('isPlainAck', () => {
  it('knows the ACK of a response', () => {
    expect(isPlainAck(encodeDeltaRequest(ack), head, 'a1b2.7')).toBe(true);
  });

  const others: readonly [name: string, request: DeltaRequestInit][] = [
    ['another type', { ...ack, typeUrl: cluster }],
    ['another nonce', { ...ack, nonce: 'a1b2.8' }],
    ['a longer nonce', { ...ack, nonce: 'a1b2.70' }],
    ['a shorter nonce', { ...ack, nonce: 'a1b2.' }],
    ['no nonce', { typeUrl: endpoint }],
    ['a NACK', { ...ack, error: { code: 13, message: '' } }],
    ['an ACK that subscribes', { ...ack, subscribe: ['c1'] }],
    ['an ACK that unsubscribes', { ...ack, unsubscribe: ['c1'] }],
    ['an ACK with a node', { ...ack, node: new Uint8Array() }],
  ];
  it.each(others)('takes %s for something else', (_name, request) => {
    expect(isPlainAck(encodeDeltaRequest(request), head, 'a1b2.7')).toBe(false);
  });
});

describe('a stream', () => {
  /** Field 6 before field 2: well-formed, but not how clients write it. */
  function unusual(nonce: string): Uint8Array {
    const plain = encodeDeltaRequest({ typeUrl: endpoint, nonce });
    const at = head.length - 1;
    return Uint8Array.from([...plain.subarray(at), ...plain.subarray(0, at)]);
  }

  it.each([
    ['plain', (nonce: string) => encodeDeltaRequest({ typeUrl: endpoint, nonce })],
    ['in another order of fields', unusual],
  ] as const)('takes an ACK that is %s', (_name, encode) => {
    const rig = new Rig();
    rig.commit([resource(cluster, 'c1', '1', needs(endpoint, 'c1')), resource(endpoint, 'c1')]);
    const client = rig.join({ typeUrl: endpoint, subscribe: ['c1'] });
    const [response] = client.take();
    expect(client.stream.receive(encode(response?.nonce ?? ''), rig.now)).toBeUndefined();
    client.settle();
    expect(rig.hub.fleet.delivery(endpoint, 'c1')).toMatchObject([{ state: 'acked' }]);
    rig.commit([resource(endpoint, 'c1', '2')]);
    expect(client.settle()).toEqual(['endpoint: c1=2']);
  });
});
