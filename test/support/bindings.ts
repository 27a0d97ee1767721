import {
  encodeStored,
  permissions,
  type RoleBindingObject,
  type RoleBindingSpec,
  specKey,
} from '../../src/model/index.ts';
import type { Store } from '../../src/store/index.ts';

/** A RoleBinding as it stands in the View. */
export function stored(name: string, spec: RoleBindingSpec): RoleBindingObject {
  return {
    apiVersion: 'fairway/v1',
    kind: 'RoleBinding',
    metadata: {
      name,
      labels: {},
      annotations: {},
      uid: name,
      generation: 1,
      revision: '1',
      createdRevision: '1',
      createdAt: '2026-01-01T00:00:00Z',
    },
    spec,
  };
}

/** Gives the token `admin` everything again, past the API. */
export async function repairAdmin(store: Store): Promise<void> {
  const spec: RoleBindingSpec = {
    subjects: [{ token: 'admin' }],
    role: 'admin',
    scopes: ['*'],
    permissions: [...permissions],
  };
  const put = { key: specKey('RoleBinding/admin'), value: encodeStored(stored('admin', spec)) };
  await store.commit({ id: 'repair', checks: [], puts: [put], deletes: [] });
}
