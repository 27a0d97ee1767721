/**
 * What requests write beside objects (tokens, certificates of nodes, the authority) leaves a record for the audit in
 * the same transaction, whichever room commits it: so that none of them has to know of the audit, and none is forgotten.
 * The writer of objects makes its own records, which say more.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { auditSourceOf, type createApi } from '../api/index.ts';
import { type AuditedObject, type AuditRecord, type AuditSource, auditPut } from '../audit/index.ts';
import { objectKeyIn, parseObjectKey, type StorePrefix, storePrefixes } from '../model/index.ts';
import type { Store, Transaction } from '../store/index.ts';
import type { Logger } from '../telemetry/log.ts';

export interface AuditedRequests {
  /** Knows, from now on, which request of the API something is written for. */
  follow(app: ReturnType<typeof createApi>): void;
  /** The store as all rooms are to see it. */
  store(store: Store): Store;
}

export interface AuditedRequestsOptions {
  readonly now: () => number;
  readonly log: Logger;
}

/** What is told of, and as what. Whatever else is written is no doing of a request, though it may happen within one. */
const told: Partial<Record<StorePrefix, string>> = {
  joinToken: 'JoinToken',
  certificate: 'NodeCertificate',
  authority: 'Authority',
  token: 'Token',
};

const readingMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

export function createAuditedRequests({ now, log }: AuditedRequestsOptions): AuditedRequests {
  const current = new AsyncLocalStorage<AuditSource>();

  function recordOf(transaction: Transaction): AuditRecord | undefined {
    const source = current.getStore();
    if (source === undefined || transaction.puts.some(({ key }) => key.startsWith(storePrefixes.auditWrite))) {
      return undefined;
    }
    const objects = objectsOf(transaction);
    if (objects.length === 0) return undefined;
    return { at: new Date(now()).toISOString(), ...source, outcome: 'accepted', objects };
  }

  return {
    follow(app) {
      // Not earlier: the body is read in a context of its own, and who asks is known by now.
      app.addHook('preHandler', (request, _reply, done) => {
        if (readingMethods.has(request.method)) done();
        else current.run(auditSourceOf(request), done);
      });
    },
    store: (store) => ({
      ...(store.election === undefined ? {} : { election: store.election }),
      silentForMs: () => store.silentForMs?.() ?? 0,
      async commit(transaction) {
        const record = recordOf(transaction);
        if (record === undefined) return store.commit(transaction);
        const puts = [...transaction.puts, auditPut(record, transaction.id)];
        const outcome = await store.commit({ ...transaction, puts });
        if (outcome.committed) log.info({ event: 'audit', ...record, revision: outcome.revision });
        return outcome;
      },
      get: (key) => store.get(key),
      list: (prefix) => store.list(prefix),
      head: () => store.head(),
      watch: (after, signal) => store.watch(after, signal),
      ...(store.compact === undefined ? {} : { compact: (depth) => store.compact?.(depth) ?? Promise.resolve() }),
      close: () => store.close(),
    }),
  };
}

/** By their keys alone: what is written may be secret. */
function objectsOf({ checks, puts, deletes }: Transaction): AuditedObject[] {
  const created = new Set(checks.filter(({ modRevision }) => modRevision === 0).map(({ key }) => key));
  const changes = [
    ...puts.map(({ key }) => [key, created.has(key) ? 'created' : 'updated'] as const),
    ...deletes.map((key) => [key, 'deleted'] as const),
  ];
  return changes.flatMap(([key, change]): AuditedObject[] => {
    const object = objectKeyIn('spec', key);
    if (object !== undefined) return [{ ...parseObjectKey(object), change }];
    const prefix = (Object.keys(told) as StorePrefix[]).find((one) => key.startsWith(storePrefixes[one]));
    const kind = prefix && told[prefix];
    return kind === undefined ? [] : [{ kind, name: key.slice(storePrefixes[prefix as StorePrefix].length), change }];
  });
}
