import { describe, expect, it } from 'vitest';
import { createDeltaClient, encodeNode, encodeResource, joinFrame } from '../../../src/xds/index.ts';
import {
  type DeltaRequest,
  decodeDeltaRequest,
  frameResponse,
  resourceHead,
  responseHead,
} from '../../../src/xds/wire.ts';

const node = encodeNode({ id: 'n1', cluster: 'edge' });

function read(requests: readonly Uint8Array[]): DeltaRequest[] {
  return requests.map((bytes) => {
    const decoded = decodeDeltaRequest(bytes);
    if (!decoded.ok) throw new Error(decoded.error);
    return decoded.value;
  });
}

function response(
  typeUrl: string,
  nonce: string,
  puts: Record<string, string>,
  removed: readonly string[] = [],
): Uint8Array {
  const resources = Object.entries(puts).flatMap(([name, version]) => {
    const bytes = encodeResource(name, version, typeUrl, new TextEncoder().encode(version));
    return [resourceHead(bytes.byteLength), bytes];
  });
  const head = responseHead({ typeUrl, systemVersion: '1', controlPlane: 'c' });
  return joinFrame(frameResponse(head, { nonce, removed }, resources));
}

describe('client', () => {
  it('opens with one request for each type, the node in the first alone', () => {
    const client = createDeltaClient({ node });
    expect(client.subscribe('A', ['*'])).toEqual([]);
    client.subscribe('B', ['x', 'y']);
    client.subscribe('C', ['*', 'z']);
    client.subscribe('D', []);
    const requests = read(client.connect());
    expect(requests.map(({ typeUrl, subscribe, node: sent }) => [typeUrl, subscribe, sent?.id])).toEqual([
      ['A', [], 'n1'],
      ['B', ['x', 'y'], undefined],
      ['C', ['*', 'z'], undefined],
    ]);
  });

  it('asks while it is connected, with the node if nothing was asked before', () => {
    const client = createDeltaClient({ node });
    client.connect();
    expect(read(client.subscribe('A', ['x']))).toMatchObject([{ typeUrl: 'A', subscribe: ['x'], node: { id: 'n1' } }]);
    expect(read(client.subscribe('A', ['y']))).toMatchObject([{ subscribe: ['y'], node: undefined }]);
    expect(read(client.unsubscribe('A', ['x']))).toMatchObject([{ unsubscribe: ['x'] }]);
  });

  it('acknowledges, and brings along what it has when it connects again', () => {
    const client = createDeltaClient({ node });
    client.subscribe('A', ['*']);
    client.connect();
    const step = client.receive(response('A', 'n-1', { x: '1', y: '1' }));
    expect(read(step.requests)).toMatchObject([{ typeUrl: 'A', nonce: 'n-1', error: undefined }]);
    expect(step.changed.map(({ name }) => name)).toEqual(['x', 'y']);
    client.receive(response('A', 'n-2', { x: '2' }, ['y']));
    client.disconnected();
    expect(client.subscribe('A', ['z'])).toEqual([]);
    expect(read(client.connect())).toMatchObject([
      { node: { id: 'n1' }, subscribe: ['*', 'z'], initialVersions: new Map([['x', '2']]), nonce: '' },
    ]);
  });

  it('refuses a whole response for one resource and keeps what it had', () => {
    const client = createDeltaClient({ node, check: (_type, { version }) => (version === 'bad' ? 'no' : undefined) });
    client.subscribe('A', ['*']);
    client.connect();
    client.receive(response('A', 'n-1', { x: '1' }));
    const step = client.receive(response('A', 'n-2', { x: '2', y: 'bad' }, ['z']));
    expect(read(step.requests)).toMatchObject([{ nonce: 'n-2', error: { code: 13, message: 'no' } }]);
    expect(step).toMatchObject({ refused: 'no', changed: [], removed: [] });
    expect([...client.resources('A').values()].map(({ name, version }) => [name, version])).toEqual([['x', '1']]);
  });

  it('forgets what it gave up, and does not take it when it comes late', () => {
    const client = createDeltaClient({ node });
    client.subscribe('A', ['x', 'y']);
    client.connect();
    client.receive(response('A', 'n-1', { x: '1', y: '1' }));
    client.unsubscribe('A', ['x']);
    client.receive(response('A', 'n-2', { x: '2', y: '2' }));
    expect([...client.resources('A').keys()]).toEqual(['y']);
    client.subscribe('A', ['*']);
    client.unsubscribe('A', ['*']);
    expect([...client.resources('A').keys()]).toEqual(['y']);
  });

  it('throws on what is no response', () => {
    const client = createDeltaClient({ node });
    client.connect();
    expect(() => client.receive(Uint8Array.of(0x0a, 0xff))).toThrow('reading a response');
  });
});
