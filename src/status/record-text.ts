/**
 * The text of records that list objects. A refused route table may have thousands of suspects, so that what they have in
 * common (kind and scope) is written once, and a text longer than one value of the store stands in several, under
 * `key`, `key#1`, `key#2` …, which count only when they are all of the same write.
 */
import type { ObjectKey } from '../model/index.ts';
import type { Culprit, Rejection, SearchRecord, Suspect } from './records.ts';

/** Below the 384 KiB of the store's values; the text is ASCII, so that characters are bytes. */
const maxPieceLength = 256 * 1024;

/** Kind and scope → name, uid, refused and good generation of each object, one after the other. */
type Units = Readonly<Record<string, readonly (string | number | null)[]>>;
const fieldsOfUnit = 4;

export function encodeRejection({ suspects, ...rest }: Rejection): string {
  return toText({ ...rest, suspects: packUnits(suspects) });
}

export function decodeRejection(text: string): Rejection {
  const { suspects, ...rest } = JSON.parse(text) as Omit<Rejection, 'suspects'> & { suspects: Units };
  return { ...rest, suspects: unpackUnits(suspects) };
}

export function encodeSearch({ trial, hot, cold, ...rest }: SearchRecord): string {
  return toText({ ...rest, trial: packUnits(trial), hot: packUnits(hot), cold: packUnits(cold) });
}

export function decodeSearch(text: string): SearchRecord {
  const { trial, hot, cold, ...rest } = JSON.parse(text) as {
    type: string;
    name: string;
    guilty: Culprit[];
    evidence: SearchRecord['evidence'];
    trial: Units;
    hot: Units;
    cold: Units;
  };
  return { ...rest, trial: unpackUnits(trial), hot: unpackUnits(hot), cold: unpackUnits(cold) };
}

function packUnits(suspects: readonly Suspect[]): Units {
  const packed: Record<string, (string | number | null)[]> = {};
  for (const { unit, uid, refused, good } of suspects) {
    const cut = unit.lastIndexOf('/');
    const group = unit.slice(0, cut);
    packed[group] ??= [];
    packed[group].push(unit.slice(cut + 1), uid, refused, good);
  }
  return packed;
}

function unpackUnits(units: Units): Suspect[] {
  const suspects: Suspect[] = [];
  for (const [group, fields] of Object.entries(units)) {
    for (let at = 0; at < fields.length; at += fieldsOfUnit) {
      const [name, uid, refused, good] = fields.slice(at, at + fieldsOfUnit) as [string, string, number, number | null];
      suspects.push({ unit: `${group}/${name}` as ObjectKey, uid, refused, good });
    }
  }
  return suspects;
}

function toText(value: unknown): string {
  const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(value).replace(/[\u007f-\uffff]/g, escaped);
}

/** Key and value of one entry of the store. */
export interface Piece {
  readonly key: string;
  readonly value: string;
}

/** Cuts a text into values of the store. `serial` is of this write alone. */
export function piecesOf(key: string, text: string, serial: string): Piece[] {
  const count = Math.max(1, Math.ceil(text.length / maxPieceLength));
  if (count === 1) return [{ key, value: text }];
  return Array.from({ length: count }, (_, at) => ({
    key: pieceKey(key, at),
    value: `${count} ${serial}\n${text.slice(at * maxPieceLength, (at + 1) * maxPieceLength)}`,
  }));
}

export function pieceKey(key: string, at: number): string {
  return at === 0 ? key : `${key}#${at}`;
}

/** The key of the record that a piece belongs to. */
export function recordKeyOf(pieceKeyText: string): string {
  const cut = pieceKeyText.lastIndexOf('#');
  return cut < 0 ? pieceKeyText : pieceKeyText.slice(0, cut);
}

/**
 * Puts the text together again. Undefined when there is none, `partial` while a longer write has not come in whole.
 * `at` gives the value of a piece.
 */
export function joinPieces(at: (index: number) => string | undefined): string | 'partial' | undefined {
  const first = at(0);
  if (first === undefined || first.startsWith('{')) return first;
  const [count = '', serial = ''] = first.slice(0, first.indexOf('\n')).split(' ');
  const parts: string[] = [];
  for (let index = 0; index < Number(count); index += 1) {
    const piece = at(index);
    if (piece === undefined || !piece.startsWith(`${count} ${serial}\n`)) return 'partial';
    parts.push(piece.slice(piece.indexOf('\n') + 1));
  }
  return parts.join('');
}

/** Values in one commit: so many of the longest stay below the store's limit for a transaction. */
const piecesPerCommit = 4;

/** The commits that a write is made of, in order: nearly always one. */
export function partsOfWrite(
  pieces: readonly Piece[],
  deletes: readonly string[],
): readonly { readonly puts: readonly Piece[]; readonly deletes: readonly string[] }[] {
  const count = Math.max(1, Math.ceil(pieces.length / piecesPerCommit));
  return Array.from({ length: count }, (_, at) => ({
    puts: pieces.slice(at * piecesPerCommit, (at + 1) * piecesPerCommit),
    deletes: at === count - 1 ? deletes : [],
  }));
}

/** Keys of the pieces that a record no longer takes up. */
export function surplusPieces(key: string, now: number, before: number): string[] {
  return Array.from({ length: Math.max(0, before - now) }, (_, at) => pieceKey(key, now + at));
}
