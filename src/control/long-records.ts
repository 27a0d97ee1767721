import { joinPieces, pieceKey, recordKeyOf } from '../status/index.ts';
import type { Entry } from '../store/store.ts';

/** A record with what the store says of it. */
export interface Stored<T> {
  readonly record: T;
  /** Of the commit that wrote it. */
  readonly revision: number;
  /** Values of the store that it takes up. */
  readonly pieces: number;
}

/** Records of one prefix that may take up several values each, see `piecesOf`. */
export interface LongRecords<T> {
  readonly records: ReadonlyMap<string, Stored<T>>;
  /** Keys in the store of all that is held. */
  keys(): Iterable<string>;
  /** Takes in what stands at keys of the store, once `apply` is called; keys of other prefixes are left alone. */
  prepare(states: ReadonlyMap<string, Entry | undefined>): {
    /** Records that are others then; undefined: none any more. */
    readonly changed: ReadonlyMap<string, Stored<T> | undefined>;
    apply(): void;
  };
}

export function createLongRecords<T>(prefix: string, decode: (text: string) => T): LongRecords<T> {
  const values = new Map<string, Entry>();
  const records = new Map<string, Stored<T>>();

  function read(key: string, at: (index: number) => Entry | undefined): Stored<T> | 'partial' | undefined {
    const text = joinPieces((index) => at(index)?.value);
    if (text === undefined || text === 'partial') return text;
    let revision = 0;
    let pieces = 0;
    for (let piece = at(0); piece !== undefined; piece = at(pieces)) {
      revision = Math.max(revision, piece.modRevision);
      pieces += 1;
    }
    const known = records.get(key);
    return known?.revision === revision ? known : { record: decode(text), revision, pieces };
  }

  return {
    records,
    *keys() {
      for (const key of values.keys()) yield `${prefix}${key}`;
    },
    prepare(states) {
      const next = new Map<string, Entry | undefined>();
      for (const [key, entry] of states) if (key.startsWith(prefix)) next.set(key.slice(prefix.length), entry);
      const changed = new Map<string, Stored<T> | undefined>();
      for (const key of new Set([...next.keys()].map(recordKeyOf))) {
        const found = read(key, (index) => {
          const piece = pieceKey(key, index);
          return next.has(piece) ? next.get(piece) : values.get(piece);
        });
        // Half of a longer write: the rest comes with the next revision.
        if (found !== 'partial' && found !== records.get(key)) changed.set(key, found);
      }
      return {
        changed,
        apply() {
          for (const [key, entry] of next) {
            if (entry === undefined) values.delete(key);
            else values.set(key, entry);
          }
          for (const [key, stored] of changed) {
            if (stored === undefined) records.delete(key);
            else records.set(key, stored);
          }
        },
      };
    },
  };
}
