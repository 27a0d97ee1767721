/** Encoded fragments by their content. Bounded: what was not asked for in the last two generations is forgotten. */
export interface FragmentCache {
  get(key: string, make: () => Uint8Array): Uint8Array;
}

/** A generation of this size holds the members of a large installation in a few megabytes. */
const defaultGenerationSize = 65_536;

export function createFragmentCache(generationSize = defaultGenerationSize): FragmentCache {
  let young = new Map<string, Uint8Array>();
  let old = new Map<string, Uint8Array>();
  return {
    get(key, make) {
      const known = young.get(key);
      if (known !== undefined) return known;
      const fragment = old.get(key) ?? make();
      if (young.size >= generationSize) {
        old = young;
        young = new Map();
      }
      young.set(key, fragment);
      return fragment;
    },
  };
}
