import { differing } from '../lib/differing.ts';
import { contentHash } from '../lib/hash.ts';
import { type Need, type Part, type Piece, typeUrls } from '../xds/index.ts';
import { partOf } from './encode.ts';
import { Tally } from './tally.ts';
import type { EncodedHost } from './virtual-host.ts';

/** What the hosts of a table bring to it. */
export interface TableContent {
  /** One for each host, in their order. */
  readonly pieces: readonly Piece[];
  /** Clusters, each once, by name. */
  readonly needs: readonly Need[];
  /** One for each object, by its key. */
  readonly parts: readonly Part[];
}

/**
 * The hosts of one route table, in order, with what they need and come from. One of thousands that changes, comes or
 * goes costs itself and copies of the lists: kept from one form of the table to the next, and equal to one that is made
 * from nothing, whatever came before.
 */
export class TableHosts {
  #given: readonly EncodedHost[] = [];
  #pieces: readonly Piece[] = [];
  readonly #needs = new Tally<Need>({ keyOf: nameOf, textOf: nameOf, together: ([first]) => first as Need });
  readonly #parts = new Tally<Part>({
    keyOf: unitOf,
    textOf: ({ generation, hash }) => `${generation} ${hash}`,
    together: oneOfAll,
  });

  /** Takes the hosts as they are now, in the order of their names. */
  update(given: readonly EncodedHost[]): TableContent {
    const { start, end, otherEnd } = differing(given, this.#given);
    const came = given.slice(start, end);
    const went = this.#given.slice(start, otherEnd);
    this.#given = given;
    // What stays in use is not to be taken away and added again.
    for (const host of came) this.#count(host, true);
    for (const host of went) this.#count(host, false);
    this.#pieces = [...this.#pieces.slice(0, start), ...came.map(pieceOf), ...this.#pieces.slice(otherEnd)];
    return { pieces: this.#pieces, needs: this.#needs.list, parts: this.#parts.list };
  }

  #count(host: EncodedHost, comes: boolean): void {
    for (const need of pieceOf(host).needs) comes ? this.#needs.add(need) : this.#needs.remove(need);
    for (const part of host.parts) comes ? this.#parts.add(part) : this.#parts.remove(part);
  }
}

const nameOf = ({ name }: Need): string => name;
const unitOf = ({ unit }: Part): string => unit;

const pieces = new WeakMap<EncodedHost, Piece>();

/** The same for as long as the host is: most of a table is pieces that did not change. */
function pieceOf(host: EncodedHost): Piece {
  let piece = pieces.get(host);
  if (piece === undefined) {
    const { bytes, clusters, parts } = host;
    const needs = clusters.map((name) => ({ type: typeUrls.cluster, name }));
    piece = { key: host.host, bytes, needs, units: parts.map(({ unit }) => unit) };
    pieces.set(host, piece);
  }
  return piece;
}

/** An object that stands in several hosts is one part, whatever their order. */
function oneOfAll(parts: readonly Part[]): Part {
  const hashes = [...new Set(parts.map(({ hash }) => hash))].sort();
  const [first] = parts;
  const { unit, generation } = first as Part;
  const hash = hashes.length === 1 ? (hashes[0] as string) : contentHash(hashes.join());
  return partOf(
    { unit, generation: parts.reduce((newest, part) => Math.max(newest, part.generation), generation) },
    hash,
  );
}
