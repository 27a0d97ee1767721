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
import type { Store } from '../store/store.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Budget } from '../view/index.ts';

/** All that the leader alone writes: searches and pins, drains, times of conditions, what is to be cleared away. */
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
  return {
    adopted({ touched }) {
      transitions.touch(touched);
      searcher.nudge();
      drainer.nudge();
      retention.nudge();
    },
    progressed: () => transitions.progressed(),
    lookAtAll() {
      transitions.touchAll();
      searcher.nudge();
      drainer.nudge();
      retention.nudge();
    },
    close: () =>
      Promise.all([transitions.close(), searcher.close(), drainer.close(), retention.close(), clearing.close()]),
  };
}
