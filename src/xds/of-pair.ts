/**
 * What was found last of a thing and another one: asked for each stream, and the same for all that are where it is. The
 * other one is not kept for it: of forms that follow each other, each would keep all those before it.
 */
export class OfPair<A extends object, B extends object, Found> {
  readonly #last = new WeakMap<A, { readonly other: WeakRef<B>; readonly found: Found }>();

  /** `find` is called unless it was the same two the last time. */
  get(one: A, other: B, find: () => Found): Found {
    const last = this.#last.get(one);
    if (last?.other.deref() === other) return last.found;
    const found = find();
    this.#last.set(one, { other: new WeakRef(other), found });
    return found;
  }
}
