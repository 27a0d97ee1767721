import { createLatest } from '../lib/latest.ts';
import type { RotationInput, RotationStep } from '../plan/index.ts';
import type { Store } from '../store/store.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Authority } from './authority.ts';
import type { Members } from './members.ts';

/** Takes rotations to their end, and removes what has expired. One for each term of a leader. */
export interface RotationKeeper {
  /** Certificates, nodes or the authority changed. */
  nudge(): void;
  close(): Promise<void>;
}

export interface RotationKeeperOptions {
  readonly authority: Authority;
  readonly members: Members;
  /** Fenced: see `createLeader`. */
  readonly store: Store;
  readonly input: () => Omit<RotationInput, 'now' | 'followMs'>;
  /** How long controllers have to take up what was decided. */
  readonly followMs: number;
  readonly now: () => number;
  readonly log: Logger;
}

/** A commit of many changes nudges many times. */
const holdOffMs = 250;
/** What has expired is refused anyway. */
const sweepMs = 60_000;

export function createRotationKeeper(options: RotationKeeperOptions): RotationKeeper {
  const { authority, members, store, input, followMs, now, log } = options;
  let sweptAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;

  const latest = createLatest({
    holdOffMs,
    async task() {
      let step: RotationStep;
      do {
        step = await authority.advance({ ...input(), now: now(), followMs }, store);
        if (step.kind === 'write') {
          const { roots, serving } = step.record;
          log.info({ event: 'rotation_advanced', roots: roots.map(({ id }) => id), serving });
        }
      } while (step.kind === 'write');
      if (now() - sweptAt >= sweepMs) {
        await members.sweep(store);
        sweptAt = now();
      }
      const dueMs = step.kind === 'wait' ? Math.max(0, step.until - now()) : sweepMs;
      clearTimeout(timer);
      timer = setTimeout(() => latest.nudge(), Math.min(dueMs, sweepMs));
      timer.unref();
    },
    onError: (error) => log.warn({ event: 'rotation_failed', err: error }),
  });
  latest.nudge();
  return {
    nudge: () => latest.nudge(),
    async close() {
      clearTimeout(timer);
      await latest.close();
      clearTimeout(timer);
    },
  };
}
