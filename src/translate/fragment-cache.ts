/** What was made once, by its content. Bounded: what was not asked for in the last two generations is forgotten. */
export interface FragmentCache<T> {
  get(key: string, make: () => T): T;
}

export function createFragmentCache<T>(generationSize: number): FragmentCache<T> {
  let young = new Map<string, T>();
  let old = new Map<string, T>();
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
