import { type ObjectKey, storeKey, storePrefixes } from '../model/index.ts';
import {
  decodeRejection,
  decodeSearch,
  encodeRejection,
  encodeSearch,
  joinPieces,
  type Piece,
  pieceKey,
  piecesOf,
} from './record-text.ts';
import { type Culprit, type Rejection, rejectionKey, type SearchRecord, type Suspect } from './records.ts';

/**
 * Refusals and pins as the first versions of the store had them:
 *
 * 1. a pin stood for one object, under its key, and a refusal named its scope and listed its suspects in full; the very
 *    first of both had no uids;
 * 2. then a search stood for one resource, as now, but a refusal did not say whether its base was known (it always was).
 *
 * What was held back stays so, since that is what keeps the last good form in force.
 */

interface FormerPin {
  readonly uid?: string;
  readonly refused: number;
  readonly good: number | null;
}

type FormerRejection = Pick<
  Rejection,
  'type' | 'name' | 'hash' | 'words' | 'nodes' | 'nodeCount' | 'count' | 'first' | 'last'
> & {
  readonly scope: 'convicted' | 'local' | 'host';
  readonly suspects: readonly (Omit<Suspect, 'uid'> & { readonly uid?: string })[];
};

/** A write; those of one upgrade are to be made in order, and can be made again from the start after any of them. */
export type RecordWrite = { readonly put: Piece } | { readonly remove: string };

/**
 * What brings the refusals and pins among the values of a store to their present form; nothing when they have it.
 * `uidOf` says which object stands under a key now, `serial` is of these writes alone.
 */
export function upgradeRecords(
  values: ReadonlyMap<string, string>,
  uidOf: (unit: ObjectKey) => string | undefined,
  serial: string,
): readonly RecordWrite[] {
  const pins = formerPins(values, uidOf);
  const searches: RecordWrite[] = [];
  const rejections: RecordWrite[] = [];
  for (const key of values.keys()) {
    if (!key.startsWith(storePrefixes.rejection) || key.includes('#')) continue;
    const text = joinPieces((index) => values.get(pieceKey(key, index)));
    if (text === undefined || text === 'partial') continue;
    const record = JSON.parse(text) as FormerRejection | Omit<Rejection, 'suspects'>;
    if ('scope' in record) {
      // What one proxy said of itself is said anew when it connects.
      if (record.scope !== 'convicted') {
        rejections.push({ remove: key });
        continue;
      }
      const upgraded = upgradeRejection(record, uidOf);
      searches.push(...searchWrites(values, upgraded, pins, serial));
      rejections.push(...writes(key, encodeRejection(upgraded), serial));
    } else if (!('isBaseKnown' in record)) {
      rejections.push(...writes(key, encodeRejection({ ...decodeRejection(text), isBaseKnown: true }), serial));
    }
  }
  const unpin = [...pins.keys()].map((unit) => ({ remove: storeKey('pin', unit) }));
  // The refusals last: until they are written anew, all can be made again from them.
  return [...searches, ...unpin, ...rejections];
}

function formerPins(
  values: ReadonlyMap<string, string>,
  uidOf: (unit: ObjectKey) => string | undefined,
): ReadonlyMap<ObjectKey, Suspect> {
  const pins = new Map<ObjectKey, Suspect>();
  for (const [key, value] of values) {
    if (!key.startsWith(storePrefixes.pin) || !value.startsWith('{')) continue;
    const pin = JSON.parse(value) as FormerPin | SearchRecord;
    if (!('refused' in pin)) continue;
    const unit = key.slice(storePrefixes.pin.length) as ObjectKey;
    pins.set(unit, { unit, uid: pin.uid ?? uidOf(unit) ?? '', refused: pin.refused, good: pin.good });
  }
  return pins;
}

function upgradeRejection(former: FormerRejection, uidOf: (unit: ObjectKey) => string | undefined): Rejection {
  const { type, name, hash, words, nodes, nodeCount, count, first, last } = former;
  return {
    ...{ type, name, hash, words, nodes, nodeCount, count, first, last },
    // Before anything that is served from now on.
    revision: 0,
    versions: [],
    earlier: [],
    accepted: null,
    acquitted: false,
    suspects: former.suspects.map(({ unit, uid, refused, good }) => ({
      unit,
      uid: uid ?? uidOf(unit) ?? '',
      refused,
      good,
    })),
    isBaseKnown: true,
  };
}

/** Whoever was pinned for the refusal is held to be at fault: nobody was searched for further. */
function searchWrites(
  values: ReadonlyMap<string, string>,
  { type, name, suspects, hash, words, versions, nodes, nodeCount, first, last }: Rejection,
  pins: ReadonlyMap<ObjectKey, Suspect>,
  serial: string,
): readonly RecordWrite[] {
  const evidence = { hash, words, versions, nodes, nodeCount, first, last };
  const pinned = suspects.flatMap(({ unit }): Culprit[] => {
    const pin = pins.get(unit);
    return pin === undefined ? [] : [{ ...pin, evidence }];
  });
  if (pinned.length === 0) return [];
  const key = storeKey('pin', rejectionKey(type, name) as ObjectKey);
  const text = joinPieces((index) => values.get(pieceKey(key, index)));
  // Made by an upgrade that was broken off, when some of the pins had been taken away already.
  const before = text === undefined || text === 'partial' ? [] : decodeSearch(text).guilty;
  const known = new Set(before.map(({ unit }) => unit));
  const guilty = [...before, ...pinned.filter(({ unit }) => !known.has(unit))];
  return writes(key, encodeSearch({ type, name, guilty, trial: [], hot: [], cold: [], evidence: null }), serial);
}

function writes(key: string, text: string, serial: string): readonly RecordWrite[] {
  return piecesOf(key, text, serial).map((put) => ({ put }));
}
