import type { FastifyInstance } from 'fastify';
import { type AuditKind, type AuditRecord, auditKinds, auditTimeOf } from '../audit/index.ts';
import { storeKey } from '../model/index.ts';
import type { Store } from '../store/store.ts';
import type { Api } from './api.ts';
import { moment, oneOf, timeOf } from './moment.ts';
import { addPath } from './operation.ts';
import type { AuditNames } from './ports.ts';
import { invalidParameter, readQuery, text, type ValuesOf, wholeNumber } from './query.ts';

/** Who did what: the records of the audit, newest first. */

const query = {
  who: text('Only what this one did, or was refused.'),
  kind: text('Only what concerns objects of this kind.'),
  scope: text('Only what concerns objects of this scope.'),
  name: text('Only what concerns objects of this name.'),
  outcome: oneOf('Only what ended so.', ['accepted', 'refused', 'failed']),
  requestId: text('Only this request.'),
  since: moment('Only from then on.'),
  until: moment('Only until then.'),
  limit: wholeNumber('Largest number of records in the answer; absent: 100.', 1, 500),
  continue: text('Token of the page before.'),
} as const;

type Wanted = ValuesOf<typeof query>;

const defaultLimit = 100;

/** Records read at once, so that their texts do not hold the event loop. */
const readTogether = 50;

/** Records looked at for one page: what nearly nothing matches takes several. */
const maxLookedAt = 5_000;

/** Reads the records from the store, where they are: this controller holds their names alone. */
export function addAudit(app: FastifyInstance, { clock, ports, view }: Api, store: Store): void {
  addPath(app, '/v1/audit', {
    GET: {
      access: { verb: 'read', kind: 'Audit' },
      description: {
        operationId: 'listAudit',
        tag: 'audit',
        summary: 'Who did what, from where, and what it changed; newest first',
        query,
        answers: { 200: { description: 'The records.', schema: { $ref: '#/components/schemas/AuditList' } } },
      },
      async handler(request) {
        const wanted = readQuery(request.query, query);
        const { items, next } = await readPage(store, ports.audit(), wanted, clock());
        const metadata = { revision: String(view.revision), ...(next !== undefined && { continue: writeToken(next) }) };
        return { metadata, items };
      },
    },
  });
}

/** A record by its place. */
interface Name {
  readonly kind: AuditKind;
  readonly name: string;
}

async function readPage(store: Store, names: AuditNames, wanted: Wanted, now: number) {
  const limit = wanted.limit ?? defaultLimit;
  const candidates = namesOf(names, wanted, now).slice(0, maxLookedAt + 1);
  const items: object[] = [];
  let looked = 0;
  while (looked < Math.min(candidates.length, maxLookedAt) && items.length < limit) {
    const some = candidates.slice(looked, looked + readTogether);
    const entries = await Promise.all(some.map(({ kind, name }) => store.get(storeKey(kind, name))));
    for (const [i, entry] of entries.entries()) {
      if (items.length === limit) break;
      looked += 1;
      // It has grown too old meanwhile.
      if (entry === undefined) continue;
      const record = JSON.parse(entry.value) as AuditRecord;
      const id = some[i]?.name;
      if (matches(record, wanted)) items.push({ id, revision: String(entry.modRevision), ...record });
    }
  }
  return { items, next: looked < candidates.length ? candidates[looked - 1] : undefined };
}

/** Newest first, as far as times and the page before say. */
function namesOf(names: AuditNames, { since, until, outcome, continue: token }: Wanted, now: number): Name[] {
  const before = token === undefined ? undefined : readToken(token);
  const [from, to] = [since && timeOf(since, now), until && timeOf(until, now)];
  const found: Name[] = [];
  for (const kind of auditKinds) {
    if (outcome !== undefined && (outcome === 'accepted') !== (kind === 'auditWrite')) continue;
    for (const name of names[kind]) {
      if (before !== undefined && name >= before) continue;
      const at = auditTimeOf(name);
      if ((from === undefined || at >= from) && (to === undefined || at <= to)) found.push({ kind, name });
    }
  }
  return found.sort((a, b) => (a.name < b.name ? 1 : -1));
}

function matches(record: AuditRecord, { who, outcome, requestId, kind, scope, name }: Wanted): boolean {
  if (who !== undefined && record.who.name !== who) return false;
  if (outcome !== undefined && record.outcome !== outcome) return false;
  if (requestId !== undefined && record.requestId !== requestId) return false;
  if (kind === undefined && scope === undefined && name === undefined) return true;
  return record.objects.some(
    (object) =>
      (kind === undefined || object.kind === kind) &&
      (scope === undefined || object.scope === scope) &&
      (name === undefined || object.name === name),
  );
}

function writeToken({ name }: Name): string {
  return Buffer.from(name).toString('base64url');
}

function readToken(token: string): string {
  const name = Buffer.from(token, 'base64url').toString();
  if (Number.isNaN(auditTimeOf(name)))
    throw invalidParameter('continue', 'must be the token that the page before gave');
  return name;
}
