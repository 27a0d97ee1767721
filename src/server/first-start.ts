import { encodeStored, type FairwayObject, newMetadata, objectKey, specKey } from '../model/index.ts';
import type { Store } from '../store/store.ts';

/** Scopes that exist from the start. */
const builtInScopes = ['default', 'system'] as const;

/** Creates what exists from the start; what is there already stays as it is. */
export async function prepareStore(store: Store, options: { newId: () => string; now: () => number }): Promise<void> {
  for (const name of builtInScopes) {
    const key = specKey(objectKey('Scope', undefined, name));
    if ((await store.get(key)) !== undefined) continue;
    const scope: FairwayObject = {
      apiVersion: 'fairway/v1',
      kind: 'Scope',
      metadata: newMetadata(name, { uid: options.newId(), createdAt: new Date(options.now()).toISOString() }),
      spec: {},
    };
    const put = { key, value: encodeStored(scope) };
    await store.commit({ id: options.newId(), checks: [{ key, modRevision: 0 }], puts: [put], deletes: [] });
  }
}
