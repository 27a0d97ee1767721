import type { ControllerInfo } from '../api/index.ts';
import type { Records } from '../control/index.ts';
import type { ControllerRecord } from '../status/index.ts';

/** The controllers of the cluster as this one sees them. One per controller. */
export interface Controllers {
  /** The View was changed: who has been heard of? */
  adopted(): void;
  /** Whether it is this one, or was heard of in the last seconds. */
  isAlive(id: string): boolean;
  /** When its record, or our own, came last, by `now`; undefined: it never did. */
  heardAt(id: string): number | undefined;
  /** Ids of the others that are alive and have proxies to tell of, in order. */
  readonly others: readonly string[];
  /** Another number whenever some controller has come or gone. */
  readonly edition: number;
  /** Ids of those that have records, but were not heard of for long: what they left is to be cleared away. */
  gone(): string[];
  list(): ControllerInfo[];
}

export interface ControllersOptions {
  readonly records: Pick<Records, 'controllers' | 'deliveries' | 'nodes'>;
  /** This one, as it is now. */
  readonly self: () => ControllerRecord;
  /** Whether others may have the store too. */
  readonly shared: boolean;
  /** Milliseconds that only grow. */
  readonly now: () => number;
}

/** A few records missed: its machine is down, or it cannot reach the store. */
const silentMs = 10_000;

/** Long enough for one that restarts to come back and find its own. */
const goneMs = 30_000;

/**
 * Whether a controller is there is judged by when its records arrive here, and not by what its clock says; and by
 * comparison with when our own arrive: where the store is out of reach nobody is declared dead.
 */
export function createControllers({ records, self, shared, now }: ControllersOptions): Controllers {
  const me = self().id;
  const startedAt = now();
  const heard = new Map<string, { record: ControllerRecord | undefined; at: number }>();
  let others: readonly string[] = [];
  let edition = 0;

  function adopted(): void {
    const at = now();
    for (const [id, record] of records.controllers) {
      if (heard.get(id)?.record !== record) heard.set(id, { record, at });
    }
    for (const id of heard.keys()) if (!records.controllers.has(id)) heard.delete(id);
    const alive = [...records.deliveries.keys()].filter((id) => id !== me && isAlive(id)).sort();
    if (alive.length === others.length && alive.every((id, i) => id === others[i])) return;
    others = alive;
    edition += 1;
  }

  /** Milliseconds for which nothing was heard of it while our own records came back. */
  function silentFor(id: string): number {
    const reference = heard.get(me)?.at ?? startedAt;
    return reference - (heard.get(id)?.at ?? startedAt);
  }

  function isAlive(id: string): boolean {
    return id === me || (heard.has(id) && silentFor(id) <= silentMs);
  }

  return {
    adopted,
    isAlive,
    heardAt: (id) => heard.get(id)?.at,
    get others() {
      return others;
    },
    get edition() {
      return edition;
    },
    gone() {
      const named = new Set([...records.controllers.keys(), ...records.deliveries.keys()]);
      for (const { connected, controller } of records.nodes.values()) {
        if (connected && controller !== undefined) named.add(controller);
      }
      return [...named].filter((id) => id !== me && silentFor(id) > goneMs);
    },
    list() {
      const own = self();
      const all = shared ? [...records.controllers.values()].filter(({ id }) => id !== me) : [];
      // Of two that think so, the one of the later term is right.
      const terms = [own, ...all].flatMap(({ id, leading }) => (isAlive(id) && leading !== null ? leading.term : []));
      const term = Math.max(0, ...terms);
      return [own, ...all]
        .map((record) => infoOf(record, { isAlive: isAlive(record.id), term }))
        .sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
    },
  };
}

function infoOf(record: ControllerRecord, { isAlive, term }: { isAlive: boolean; term: number }): ControllerInfo {
  const { leading, run: _run, key: _key, certificate: _certificate, revision, ...rest } = record;
  const leads = isAlive && leading?.term === term;
  return {
    ...rest,
    revision: String(revision),
    state: isAlive ? 'Ready' : 'Unreachable',
    leader: leads,
    ...(leads ? { term, leaderSince: leading.since } : {}),
  };
}
