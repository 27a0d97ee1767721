import {
  type Adoption,
  createClearing,
  createDrainer,
  createRetention,
  createSearcher,
  createTransitionWriter,
  type LeaderWork,
  type Mirror,
  type RetentionLimits,
  type SearcherOptions,
  type TransitionWriterOptions,
} from '../control/index.ts';
import type { RotationKeeper } from '../pki/index.ts';
import type { Store } from '../store/store.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Budget } from '../view/index.ts';

/** All that the leader alone writes: searches and pins, drains, times of conditions, rotations, what is to be cleared away. */
export interface Leading extends LeaderWork {
  adopted(adoption: Adoption): void;
  /** Proxies acknowledged or refused something. */
  progressed(): void;
  /** Everything may be another: at the begin of a term, or when proxies came or went. */
  lookAtAll(): void;
}

export interface LeadingOptions extends Pick<TransitionWriterOptions, 'conditions' | 'proxiesKnown' | 'slices'> {
  readonly mirror: Mirror;
  /** Fenced: see `createLeader`. */
  readonly store: Store;
  readonly now: () => number;
  readonly newId: () => string;
  readonly budget: Budget;
  /** Ids of controllers that were not heard of for long. */
  readonly gone: () => readonly string[];
  /** Takes rotations of the authority to their end; absent: there is none. */
  readonly keepRotation?: ((fenced: Store) => RotationKeeper) | undefined;
  readonly onConvicted: NonNullable<SearcherOptions['onConvicted']>;
  /** How much is kept of events and of the audit. */
  readonly limits: RetentionLimits;
  readonly log: Logger;
}

export function createLeading(options: LeadingOptions): Leading {
  const transitions = createTransitionWriter(options);
  const searcher = createSearcher(options);
  const drainer = createDrainer(options);
  const retention = createRetention(options);
  const clearing = createClearing(options);
  const rotation = options.keepRotation?.(options.store);
  return {
    adopted({ touched }) {
      transitions.touch(touched);
      searcher.nudge();
      drainer.nudge();
      retention.nudge();
      // Certificates are looked at while a rotation waits for them, and at no other time.
      if ((options.mirror.records.authorities.get('nodes')?.roots.length ?? 0) > 1) rotation?.nudge();
    },
    progressed: () => transitions.progressed(),
    lookAtAll() {
      transitions.touchAll();
      searcher.nudge();
      drainer.nudge();
      retention.nudge();
    },
    close: () =>
      Promise.all([
        transitions.close(),
        searcher.close(),
        drainer.close(),
        retention.close(),
        clearing.close(),
        rotation?.close(),
      ]),
  };
}
