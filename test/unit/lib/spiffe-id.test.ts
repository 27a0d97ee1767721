import { describe, expect, it } from 'vitest';
import { formatNodeId, isUid, parseNodeId } from '../../../src/lib/spiffe-id.ts';

describe('the URI of a node', () => {
  it('is read as it was written', () => {
    const id = { trustDomain: 'fairway-1', fleet: 'edge', id: 'edge-1' };
    expect(formatNodeId(id)).toBe('spiffe://fairway-1/fleet/edge/node/edge-1');
    expect(parseNodeId(formatNodeId(id))).toEqual(id);
  });

  it.each([
    'spiffe://d/controller',
    'spiffe://d/fleet/edge',
    'spiffe://d/fleet/edge/node/',
    'spiffe://d/fleet//node/a',
    'spiffe://d/fleet/edge/node/a/b',
    'spiffe:///fleet/edge/node/a',
    'https://d/fleet/edge/node/a',
    'spiffe://d/fleet/edge/node/a?x',
    'spiffe://d/fleet/Edge/node/a',
    'x spiffe://d/fleet/edge/node/a',
  ])('is not %s', (text) => {
    expect(parseNodeId(text)).toBeUndefined();
  });

  it('ends with a uid or a name', () => {
    expect(isUid('0f8fad5b-d9cb-469f-a165-70867728950e')).toBe(true);
    expect(isUid('edge-1')).toBe(false);
  });
});
