/** Maps whose values are collections that come with their first member and go with their last. */

/** The value of a key, made and set when there is none. */
export function getOrMake<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}

export function addTo<K, V>(map: Map<K, Set<V>>, key: K, value: V): void {
  getOrMake(map, key, () => new Set<V>()).add(value);
}

export function removeFrom<K, V>(map: Map<K, Set<V>>, key: K, value: V): void {
  const values = map.get(key);
  values?.delete(value);
  if (values?.size === 0) map.delete(key);
}
