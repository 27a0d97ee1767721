import type { Store } from '../../src/store/store.ts';

/** A store that servers share, at once or one after the other: none closes it for the others. */
export function unclosing(shared: Store): Store {
  return {
    commit: (transaction) => shared.commit(transaction),
    get: (key) => shared.get(key),
    list: (prefix) => shared.list(prefix),
    head: () => shared.head(),
    watch: (after, signal) => shared.watch(after, signal),
    close: async () => undefined,
  };
}
