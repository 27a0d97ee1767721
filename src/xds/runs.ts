/**
 * The bytes of state-of-the-world responses. A full set holds everything, whichever of it changed, and is the same for
 * nearly all streams: it is put together from runs of resources that are joined once and shared. A change of one resource
 * costs one run and not the set, and a socket is handed a few hundred pieces and not ten thousand.
 */
import type { Pieces } from './pieces.ts';
import type { Resource } from './resource.ts';
import { anyField } from './sotw-wire.ts';
import { joinShared } from './wire.ts';

/** Clusters have some hundred bytes each: a run has what a socket takes at once. */
const perRun = 64;

/** Runs looked at in one piece: a thousand resources. */
const runsPerPiece = 16;

interface Run {
  /** The bytes of its resources, as they are in the table. */
  readonly resources: readonly Uint8Array[];
  readonly joined: Uint8Array;
}

export class Runs {
  /** By the first resource: as long as that is in use, so may be the run. */
  readonly #known = new WeakMap<Uint8Array, Run>();

  /** The fields of a response that hold these resources, in this order. */
  *join(resources: Iterable<Resource>): Pieces<readonly Uint8Array[]> {
    const chunks: Uint8Array[] = [];
    let run: Uint8Array[] = [];
    for (const { bytes } of resources) {
      run.push(bytes);
      if (run.length < perRun) continue;
      chunks.push(this.#joined(run));
      run = [];
      if (chunks.length % runsPerPiece === 0) yield;
    }
    if (run.length > 0) chunks.push(this.#joined(run));
    return chunks;
  }

  #joined(resources: readonly Uint8Array[]): Uint8Array {
    const [first] = resources as [Uint8Array];
    const known = this.#known.get(first);
    if (known !== undefined && isSame(known.resources, resources)) return known.joined;
    const fields = resources.map(anyField);
    // Of one there is nothing to join.
    if (fields.length === 1) return fields[0] as Uint8Array;
    const sizeBytes = fields.reduce((sum, { byteLength }) => sum + byteLength, 0);
    const joined = joinShared({ chunks: fields, sizeBytes });
    this.#known.set(first, { resources, joined });
    return joined;
  }
}

function isSame(a: readonly Uint8Array[], b: readonly Uint8Array[]): boolean {
  return a.length === b.length && a.every((bytes, at) => bytes === b[at]);
}
