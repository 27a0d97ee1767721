import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { mintToken } from '../api/index.ts';
import { type AuditRecord, auditedObject, auditPut } from '../audit/index.ts';
import { adminTokenName } from '../lib/local-server.ts';
import {
  encodeStored,
  newMetadata,
  objectKey,
  permissions,
  type RoleBindingObject,
  specKey,
  storeKey,
  storePrefixes,
} from '../model/index.ts';
import type { Store } from '../store/store.ts';
import type { Logger } from '../telemetry/log.ts';

/** The first administrator is a token of this name, with a binding of this name, or the next one that is free. */
const name = 'admin';

export interface FirstAdminOptions {
  readonly store: Store;
  /** Where the token is kept; undefined: nothing outlives the process, and neither shall the token. */
  readonly folder: string | undefined;
  /** Make one also where there are some: everybody's tokens may be lost, and who starts the server owns its data. */
  readonly anew: boolean;
  /** Name of this controller, for the audit. */
  readonly replica: string;
  readonly newId: () => string;
  readonly now: () => number;
  readonly log: Logger;
}

export interface FirstAdmin {
  /** Where the token is, whether it was made now or before. */
  readonly tokenFile: string;
  /** Takes away what must not outlive the process. */
  close(): Promise<void>;
}

/**
 * Sees to it that somebody can get in: a store that knows no binding and no token gets both for an administrator, and
 * the token is written to a file that its owner alone can read. Of controllers that start at once one makes it.
 */
export async function prepareAdmin(options: FirstAdminOptions): Promise<FirstAdmin> {
  const { store, folder, anew, replica, now, newId, log } = options;
  const home = folder === undefined ? await mkdtemp(join(tmpdir(), 'fairway-')) : resolve(folder);
  const tokenFile = join(home, adminTokenName);
  const close = async (): Promise<void> => {
    if (folder === undefined) await rm(home, { recursive: true, force: true });
  };
  if (!anew && !(await isNew(store))) return { tokenFile, close };

  const createdAt = new Date(now()).toISOString();
  const { text, record } = await mintToken({ name, createdAt, createdBy: 'the start of the server' });
  // Before the commit, under a name that nobody looks for: a token that nobody has would lock everybody out.
  await mkdir(home, { recursive: true });
  const made = `${tokenFile}.${newId()}`;
  await writeFile(made, `${text}\n`, { mode: 0o600, flag: 'wx' });
  // Of a binding that somebody has changed nothing is lost: another one stands beside it. At a first start there is one
  // name, so that of controllers which start at once the second finds it taken.
  const free = anew ? await freeName(store) : name;
  const binding = objectKey('RoleBinding', undefined, free);
  const object = everythingTo(name, { name: free, uid: newId(), createdAt });
  const audit: AuditRecord = {
    at: createdAt,
    who: { name: replica, kind: 'controller' },
    from: '',
    requestId: '',
    request: anew ? 'start with --new-admin-token' : 'first start',
    outcome: 'accepted',
    // Of the token its id alone.
    objects: [{ kind: 'Token', name: record.id, change: 'created' }, auditedObject(binding, undefined, object)],
  };
  const outcome = await store.commit({
    id: newId(),
    checks: [{ key: specKey(binding), modRevision: 0 }],
    puts: [
      { key: storeKey('token', record.id), value: JSON.stringify(record) },
      { key: specKey(binding), value: encodeStored(object) },
      auditPut(audit, newId()),
    ],
    deletes: [],
  });
  if (outcome.committed) {
    await rename(made, tokenFile);
    log.info({ event: 'admin_token_made', tokenFile });
    log.info({ event: 'audit', ...audit, revision: outcome.revision });
  } else {
    await rm(made);
  }
  return { tokenFile, close };
}

async function isNew(store: Store): Promise<boolean> {
  const [tokens, bindings] = await Promise.all([store.list(storePrefixes.token), store.list(specKey('RoleBinding/'))]);
  return tokens.entries.length === 0 && bindings.entries.length === 0;
}

async function freeName(store: Store): Promise<string> {
  for (let i = 1; ; i += 1) {
    const candidate = i === 1 ? name : `${name}-${i}`;
    if ((await store.get(specKey(objectKey('RoleBinding', undefined, candidate)))) === undefined) return candidate;
  }
}

/** A binding that gives the token of a name everything. */
export function everythingTo(
  token: string,
  { name: binding, uid, createdAt }: { readonly name: string; readonly uid: string; readonly createdAt: string },
): RoleBindingObject {
  return {
    apiVersion: 'fairway/v1',
    kind: 'RoleBinding',
    metadata: newMetadata(binding, { uid, createdAt }),
    spec: { subjects: [{ token }], role: 'admin', scopes: ['*'], permissions: [...permissions] },
  };
}
