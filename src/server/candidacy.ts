import type { ServerConfig } from '../config/index.ts';
import { type Adoption, createLeader, type Leader, type RetentionLimits } from '../control/index.ts';
import type { Store } from '../store/store.ts';
import type { Chronicle } from './chronicle.ts';
import { createLeading, type Leading, type LeadingOptions } from './leading.ts';
import type { Run } from './run.ts';

/** The part of this controller in the election: it stands, and while it leads does what a leader does. One per server. */
export interface Candidacy {
  /** Undefined: another leads, or nobody. */
  readonly current: { readonly term: number; readonly since: number } | undefined;
  /** Begins to stand. Of a controller that does not control nobody calls it, and it never leads. */
  stand(options: StandOptions): void;
  /** The start is over: somebody waits for what a leader does. */
  open(): void;
  adopted(adoption: Adoption): void;
  /** Proxies acknowledged or refused something. */
  progressed(): void;
  /** Everything may be another. */
  lookAtAll(): void;
  close(): Promise<void>;
}

export interface StandOptions extends Omit<LeadingOptions, 'store' | 'onConvicted' | 'limits' | SharedByRun> {
  readonly store: Store;
  readonly chronicle: Chronicle;
  /** This controller has begun to lead, or has stopped. */
  readonly onChange: () => void;
}

type SharedByRun = 'now' | 'newId' | 'budget' | 'slices' | 'log';

const maxEvents = 10_000;

export function createCandidacy(run: Run): Candidacy {
  const { config, replica, now, newId, budget, slices } = run;
  const log = run.logOf('control');
  let leader: Leader<Leading> | undefined;
  let isOpen = false;

  return {
    get current() {
      return leader?.current;
    },
    stand({ store, chronicle, onChange, ...options }) {
      const isShared = store.election !== undefined;
      leader = createLeader({
        store,
        candidate: JSON.stringify({ id: replica, run: run.id }),
        begin: (fenced) =>
          createLeading({
            ...options,
            store: fenced,
            onConvicted: (object, found) => chronicle.convicted(object, found),
            limits: retentionOf(config),
            now,
            newId,
            budget,
            slices,
            log,
          }),
        onChange() {
          onChange();
          const leads = leader?.current !== undefined;
          if (isShared && leads) chronicle.tell('BecameLeader', 'it decides for the cluster from now on');
          else if (isShared) chronicle.tell('LostLeadership', 'another controller decides from now on, or none');
          // While it starts, nobody waits for what a leader does.
          if (isOpen) leader?.current?.work.lookAtAll();
        },
        now,
        log,
      });
    },
    open() {
      isOpen = true;
      leader?.current?.work.lookAtAll();
    },
    adopted: (adoption) => leader?.current?.work.adopted(adoption),
    progressed: () => leader?.current?.work.progressed(),
    lookAtAll: () => leader?.current?.work.lookAtAll(),
    close: async () => leader?.close(),
  };
}

function retentionOf({ auditEntries, auditDays }: ServerConfig): RetentionLimits {
  const audit = { auditWrite: auditEntries, auditRefusal: Math.ceil(auditEntries / 4) };
  return { audit, auditAgeMs: auditDays * 24 * 3_600_000, events: maxEvents };
}
