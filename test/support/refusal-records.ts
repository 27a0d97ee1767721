/** The records of a refused cluster `default/p`, as they stand in the store. */
import { type Rejection, rejectionKey, type SearchRecord, type Suspect } from '../../src/status/index.ts';
import { typeUrls } from '../../src/xds/index.ts';

const type = typeUrls.cluster;
const name = 'default/p';

export const recordKey = rejectionKey(type, name);

export function suspectOf(rest: Partial<Suspect> = {}): Suspect {
  return { unit: 'BackendPool/default/p', uid: 'u', refused: 1, good: null, ...rest };
}

export function rejectionOf(rest: Partial<Rejection> = {}): Rejection {
  return {
    type,
    name,
    hash: 'refused',
    revision: 1,
    words: 'no',
    versions: ['envoy 1.40.0'],
    nodes: ['a'],
    nodeCount: 1,
    count: 1,
    first: '2026-01-01T00:00:00Z',
    last: '2026-01-01T00:00:00Z',
    earlier: [],
    accepted: null,
    acquitted: false,
    suspects: [suspectOf()],
    isBaseKnown: true,
    ...rest,
  };
}

/** One object was found to be at fault. */
export function convictionOf(suspect: Suspect): SearchRecord {
  const { hash, words, versions, nodes, nodeCount, first, last } = rejectionOf();
  const evidence = { hash, words, versions, nodes, nodeCount, first, last };
  return { type, name, guilty: [{ ...suspect, evidence }], trial: [], hot: [], cold: [], evidence: null };
}
