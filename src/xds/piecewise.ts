/**
 * A composite of which a piece is not ready yet. The others must not wait for it: of thousands of Routes on one listener
 * one may lead to a pool whose first check takes its time, or never passes.
 */
import type { Form } from './forms.ts';
import { composeResource, type Need, type Part, type Piece, type Resource } from './resource.ts';

/** Made for one stream, and the same for all that are where it is. */
interface Made {
  readonly base: Form;
  readonly held: string;
  readonly resource: Resource;
}

const lastMade = new WeakMap<Resource, Made>();

/**
 * The resource with the pieces that miss something as they are in `base`, or left out where that has none. Undefined
 * when that would be nothing new.
 */
export function withReadyPieces(
  resource: Resource,
  base: Form | undefined,
  isMissing: (need: Need) => boolean,
): Resource | undefined {
  if (resource.pieces === undefined || base?.needs === undefined || base.pieces === undefined) return undefined;
  const former = new Map(base.pieces.map((piece) => [piece.key, piece]));
  const pieces: Piece[] = [];
  const held: string[] = [];
  let isNew = false;
  for (const piece of resource.pieces) {
    const was = former.get(piece.key);
    former.delete(piece.key);
    if (was !== undefined && isSame(was, piece)) pieces.push(was);
    else if (!piece.needs.some(isMissing)) {
      pieces.push(piece);
      isNew = true;
    } else {
      held.push(piece.key);
      if (was !== undefined) pieces.push(was);
    }
  }
  if (held.length === 0 || !(isNew || former.size > 0)) return undefined;
  const text = held.join(' ');
  const made = lastMade.get(resource);
  if (made?.base === base && made.held === text) return made.resource;
  const fresh = join(resource, base, pieces, new Set(held));
  lastMade.set(resource, { base, held: text, resource: fresh });
  return fresh;
}

function isSame(a: Piece, b: Piece): boolean {
  if (a === b) return true;
  return a.bytes.byteLength === b.bytes.byteLength && a.bytes.every((byte, at) => byte === b.bytes[at]);
}

function join(resource: Resource, base: Resource, pieces: readonly Piece[], held: ReadonlySet<string>): Resource {
  const { type, name } = resource;
  const composed = composeResource(name, type, (to) => {
    for (const { bytes } of pieces) to.raw(bytes);
  });
  const needs = new Map<string, Need>();
  for (const piece of pieces) for (const need of piece.needs) needs.set(`${need.type} ${need.name}`, need);
  return { ...resource, ...composed, pieces, needs: [...needs.values()], parts: partsOf(resource, base, held) };
}

/** Who has a piece that is held stands there as before, or not at all. */
function partsOf({ pieces = [], parts }: Resource, base: Resource, held: ReadonlySet<string>): Part[] {
  const units = new Set(pieces.flatMap((piece) => (held.has(piece.key) ? piece.units : [])));
  const former = new Map(base.parts.map((part) => [part.unit, part]));
  return parts.flatMap((part) => (units.has(part.unit) ? (former.get(part.unit) ?? []) : part));
}
