/**
 * A composite of which a piece is not ready yet. The others must not wait for it: of thousands of Routes on one listener
 * one may lead to a pool whose first check takes its time, or never passes.
 */
import { getOrMake } from '../lib/multi-map.ts';
import { composePieces, differingPieces, isComposite } from './composite.ts';
import type { Form } from './forms.ts';
import { OfPair } from './of-pair.ts';
import { byNeed, type Need, type Part, type Piece, type Resource, type TypeUrl } from './resource.ts';

/** By what is held. */
const lastMade = new OfPair<Resource, Form, Map<string, Resource>>();

/**
 * The resource with the pieces that miss something as they are in `base`, or left out where that has none. Undefined
 * when that would be nothing new.
 */
export function withReadyPieces(
  resource: Resource,
  base: Form | undefined,
  isMissing: (need: Need) => boolean,
): Resource | undefined {
  if (!isComposite(resource) || base?.needs === undefined || !isComposite(base)) return undefined;
  const { start, end, otherEnd } = differingPieces(resource, base);
  const former = new Map(base.pieces.slice(start, otherEnd).map((piece) => [piece.key, piece]));
  const between: Piece[] = [];
  const held: Piece[] = [];
  let isNew = false;
  for (const piece of resource.pieces.slice(start, end)) {
    const was = former.get(piece.key);
    former.delete(piece.key);
    if (was !== undefined && isSame(was, piece)) between.push(was);
    else if (!piece.needs.some(isMissing)) {
      between.push(piece);
      isNew = true;
    } else {
      held.push(piece);
      if (was !== undefined) between.push(was);
    }
  }
  if (held.length === 0 || !(isNew || former.size > 0)) return undefined;
  const made = lastMade.get(resource, base, () => new Map<string, Resource>());
  const text = held.map(({ key }) => key).join(' ');
  return getOrMake(made, text, () => {
    made.clear();
    const pieces = [...resource.pieces.slice(0, start), ...between, ...resource.pieces.slice(end)];
    return join(resource, base, pieces, held);
  });
}

function isSame(a: Piece, b: Piece): boolean {
  if (a === b) return true;
  return a.bytes.byteLength === b.bytes.byteLength && a.bytes.every((byte, at) => byte === b.bytes[at]);
}

function join(resource: Resource, base: Resource, pieces: readonly Piece[], held: readonly Piece[]): Resource {
  const { type, name } = resource;
  const composed = composePieces(name, type, pieces, resource);
  return { ...resource, ...composed, pieces, needs: needsOf(resource, pieces), parts: partsOf(resource, base, held) };
}

/** Those of the whole resource are in order already. */
function needsOf({ needs }: Resource, pieces: readonly Piece[]): readonly Need[] {
  const needed = new Map<TypeUrl, Map<string, Need>>();
  for (const piece of pieces) {
    for (const need of piece.needs) getOrMake(needed, need.type, () => new Map<string, Need>()).set(need.name, need);
  }
  const still = needs.filter(({ type, name }) => needed.get(type)?.delete(name) === true);
  const others = [...needed.values()].flatMap((byName) => [...byName.values()]);
  return others.length === 0 ? still : [...still, ...others].sort(byNeed);
}

/** Who has a piece that is held stands there as before, or not at all. */
function partsOf({ parts }: Resource, base: Resource, held: readonly Piece[]): Part[] {
  const units = new Set(held.flatMap((piece) => piece.units));
  const former = new Map(base.parts.flatMap((part) => (units.has(part.unit) ? [[part.unit, part]] : [])));
  return parts.flatMap((part) => (units.has(part.unit) ? (former.get(part.unit) ?? []) : part));
}
