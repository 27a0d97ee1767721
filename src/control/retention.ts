import { type AuditKind, auditKinds, auditTimeOf } from '../audit/index.ts';
import { createLatest } from '../lib/latest.ts';
import { storeKey } from '../model/index.ts';
import type { Store } from '../store/store.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Mirror } from './mirror.ts';

/** Takes away what is too old, or too much, of what only ever grows. The leader's alone. */
export interface Retention {
  /** The View has changed. */
  nudge(): void;
  close(): Promise<void>;
}

export interface RetentionLimits {
  /** Records of accepted writes, and of refusals; each by itself. */
  readonly audit: { readonly [K in AuditKind]: number };
  readonly auditAgeMs: number;
  readonly events: number;
}

export interface RetentionOptions {
  readonly mirror: Mirror;
  readonly store: Store;
  readonly limits: RetentionLimits;
  readonly now: () => number;
  readonly newId: () => string;
  readonly log: Logger;
}

/** Nobody waits for it. */
const holdOffMs = 1_000;

/** Keys in one commit, below the store's limit. */
const perCommit = 100;

/** Things grow old though nothing else changes. */
const lookEveryMs = 600_000;

/** An adoption takes milliseconds; one that does not come fails the run, which is then repeated. */
const adoptionMs = 10_000;

export function createRetention(options: RetentionOptions): Retention {
  const { mirror, store, limits, now, newId, log } = options;
  const { records } = mirror;

  /** Keys of what has to go, the oldest of each sort first. */
  function* expired(): Generator<string> {
    const oldest = now() - limits.auditAgeMs;
    for (const kind of auditKinds) {
      let over = records.audit[kind].size - limits.audit[kind];
      for (const name of records.audit[kind]) {
        if (over <= 0 && auditTimeOf(name) >= oldest) break;
        over -= 1;
        yield storeKey(kind, name);
      }
    }
    let over = records.events.size - limits.events;
    if (over <= 0) return;
    const events = [...records.events].sort(([, a], [, b]) => (a.last < b.last ? -1 : 1));
    for (const [name] of events) {
      if (over <= 0) break;
      over -= 1;
      yield storeKey('event', name);
    }
  }

  async function trim(): Promise<void> {
    for (;;) {
      const deletes = firstOf(expired(), perCommit);
      if (deletes.length === 0) return;
      const outcome = await store.commit({ id: newId(), checks: [], puts: [], deletes });
      if (outcome.committed) await mirror.reached(outcome.revision, { timeoutMs: adoptionMs });
    }
  }

  const latest = createLatest({
    task: trim,
    holdOffMs,
    onError: (error) => log.warn({ event: 'retention_failed', err: error }),
  });
  const looking = setInterval(() => latest.nudge(), lookEveryMs);
  looking.unref();

  return {
    nudge() {
      const isOver =
        auditKinds.some((kind) => records.audit[kind].size > limits.audit[kind]) || records.events.size > limits.events;
      if (isOver) latest.nudge();
    },
    close() {
      clearInterval(looking);
      return latest.close();
    },
  };
}

function firstOf<T>(items: Iterable<T>, count: number): T[] {
  const first: T[] = [];
  for (const item of items) {
    first.push(item);
    if (first.length >= count) break;
  }
  return first;
}
