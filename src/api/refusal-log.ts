import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type AuditRecord, auditPut } from '../audit/index.ts';
import type { Clock } from '../lib/clock.ts';
import { createLatest } from '../lib/latest.ts';
import type { Store } from '../store/store.ts';
import { auditSourceOf, objectsOfPath } from './audit-source.ts';
import { problemOf } from './problem.ts';

/**
 * Keeps what was refused for the audit. The first of its like is written at once, those that follow are counted and
 * written together, so that a flood of refusals is a trickle of records.
 */
export interface RefusalLog {
  /** `alike` says which refusals are counted together. */
  note(record: AuditRecord, alike: string): void;
  /** Writes what is left. */
  close(): Promise<void>;
}

export interface RefusalLogOptions {
  readonly store: Store;
  readonly newId: () => string;
  readonly clock: Clock;
  readonly log: FastifyBaseLogger;
  /** Default 60 s: in which refusals that are alike are counted together. */
  readonly windowMs?: number;
}

const defaultWindowMs = 60_000;

/** Windows that are open at a time; when there are more, whoever comes is counted with all the others who did. */
const maxWindows = 200;

const holdOffMs = 250;

/** Records in one commit, well below the store's limits: their details are short. */
const perCommit = 50;

/** Refusals that are alike, from the first of them on. */
interface Window {
  readonly record: AuditRecord;
  readonly opened: number;
  /** Of those that are not written yet. */
  count: number;
  first: string;
  last: string;
}

export function createRefusalLog(options: RefusalLogOptions): RefusalLog {
  const { store, newId, clock, log, windowMs = defaultWindowMs } = options;
  const windows = new Map<string, Window>();
  const due = new Set<Window>();

  async function write(): Promise<void> {
    while (due.size > 0) {
      const some = [...due].slice(0, perCommit);
      const records = some.map(recordOf);
      await store.commit({
        id: newId(),
        checks: [],
        puts: records.map((record) => auditPut(record, newId())),
        deletes: [],
      });
      for (const [i, window] of some.entries()) {
        due.delete(window);
        // What came while it was written waits for the end of the window.
        window.count -= records[i]?.count ?? 1;
        log.info({ event: 'audit', ...records[i] });
      }
    }
  }

  const latest = createLatest({
    task: write,
    holdOffMs,
    onError: (error) => log.warn({ event: 'audit_not_stored', records: due.size, err: error }),
  });

  /** Ends windows that are over; one in which something was counted begins anew. */
  function sweep(isLast = false): void {
    const now = clock();
    for (const [alike, window] of windows) {
      if (!isLast && now - window.opened < windowMs) continue;
      windows.delete(alike);
      if (window.count === 0 || due.has(window)) continue;
      due.add(window);
      if (!isLast) windows.set(alike, { ...window, opened: now, count: 0 });
    }
    if (due.size > 0) latest.nudge();
  }

  const sweeping = setInterval(sweep, windowMs / 4);
  sweeping.unref();

  return {
    note(record, alike) {
      const key = windows.has(alike) || windows.size < maxWindows ? alike : '';
      const window = windows.get(key);
      if (window !== undefined) {
        if (window.count === 0) window.first = record.at;
        window.count += 1;
        window.last = record.at;
        return;
      }
      const shown = key === alike ? record : { ...record, who: { name: 'several', kind: 'several' }, from: 'several' };
      const opened: Window = { record: shown, opened: clock(), count: 1, first: record.at, last: record.at };
      windows.set(key, opened);
      due.add(opened);
      latest.nudge();
    },
    async close() {
      clearInterval(sweeping);
      sweep(true);
      await latest.close();
      await write().catch((error: unknown) => log.warn({ event: 'audit_not_stored', records: due.size, err: error }));
    },
  };
}

function recordOf({ record, count, first, last }: Window): AuditRecord {
  return { ...record, at: first, ...(count > 1 && { count, last }) };
}

const readingMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Longest words of a refusal that are kept. */
const maxDetail = 500;

/**
 * Notes the writes of an app that are refused or fail, every request that is refused for who sends it, and those that
 * take everything out of the store or put it in, which no transaction tells of.
 */
export function addRefusals(app: FastifyInstance, refusals: RefusalLog | undefined, clock: Clock): void {
  if (refusals === undefined) return;
  // Not at the end of the answer, which never comes where the client has gone.
  app.addHook('onSend', async (request, reply) => {
    const { statusCode } = reply;
    const isAccess = statusCode === 401 || statusCode === 403;
    const isRefused = statusCode >= 400 && (isAccess || !readingMethods.has(request.method));
    const { access } = request.routeOptions.config;
    if (!isRefused && !(statusCode < 400 && typeof access === 'object' && access.kind === 'Backup')) return;
    const record = recordOfAnswer(request, reply, clock());
    const { who, from, code = '' } = record;
    refusals.note(record, [who.kind, who.name, from, record.request, code].join('\n'));
  });
}

function recordOfAnswer(request: FastifyRequest, { statusCode }: FastifyReply, now: number): AuditRecord {
  const common = { at: new Date(now).toISOString(), ...auditSourceOf(request), objects: objectsOfPath(request) };
  if (statusCode < 400) return { ...common, outcome: 'accepted' };
  // As it was answered: without what must not be repeated.
  const { code = 'Internal', detail = '' } = request.refusal === undefined ? {} : problemOf(request.refusal);
  return {
    ...common,
    outcome: statusCode >= 500 ? 'failed' : 'refused',
    code,
    detail: detail.slice(0, maxDetail).toWellFormed(),
  };
}
