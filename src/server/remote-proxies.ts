import type { Records } from '../control/index.ts';
import type { DeliveryRecord, NodeRecord } from '../status/index.ts';
import type { Controllers } from './controllers.ts';

/**
 * Where the proxies of the other controllers are, as those have recorded it:
 *
 *   ─▶ attached ──gone, or its controller is──▶ lost ──30 s──▶ forgotten
 *        ▲  │ └──has a stream with us────────────┼──────▶ ours (deliveries.ts)
 *        │  └──to another controller──┐          │
 *        └────────────────────────────┴──────────┘
 *
 * A proxy that moves from one controller to another is lost for seconds, and must not make conditions flap.
 */
export interface RemoteProxies {
  /** By name of the Node. Some may have a stream with us by now. */
  readonly attached: ReadonlyMap<string, Attached>;
  readonly lost: ReadonlyMap<string, Lost>;
  /** Records are others: those of these nodes, and any of the controllers. True when proxies came, moved or were lost. */
  adopted(names: Iterable<string>): boolean;
  /** Forgets those that have been lost for long; true when there were any. */
  sweep(): boolean;
}

export interface Attached {
  readonly record: NodeRecord;
  /** What it was known to have when it moved: all that is known until its new controller tells of its fleet. */
  readonly former: number | undefined;
}

export interface Lost {
  readonly record: NodeRecord;
  /** All up to here it had acknowledged; undefined: nothing was known of it. */
  readonly acked: number | undefined;
  readonly at: number;
}

export interface RemoteProxiesOptions {
  /** Id of this controller. */
  readonly self: string;
  readonly records: Pick<Records, 'nodes' | 'deliveries'>;
  readonly controllers: Pick<Controllers, 'others' | 'edition'>;
  /** Whether the node has a stream here: then what another says of it is out of date. */
  readonly isHere: (name: string) => boolean;
  /** We need not look for the proxy any more, if we did: it is elsewhere. What it had acknowledged here. */
  readonly release: (name: string) => number | undefined;
  /** Milliseconds that only grow. */
  readonly now: () => number;
}

/** As for our own (deliveries.ts). */
const lostMs = 30_000;

export function createRemoteProxies(options: RemoteProxiesOptions): RemoteProxies {
  const { self, records, controllers, isHere, release, now } = options;
  const attached = new Map<string, Attached>();
  const lost = new Map<string, Lost>();
  /** What controllers told last, those too that have taken it back since: they leave before their proxies are elsewhere. */
  const told = new Map<string, DeliveryRecord>();
  let edition = -1;
  let moved = false;

  function judge(name: string, others: ReadonlySet<string>): void {
    const record = records.nodes.get(name);
    const { connected = false, controller } = record ?? {};
    const was = attached.get(name);
    if (record === undefined || isHere(name)) forget(name);
    else if (connected && controller !== undefined && others.has(controller)) attach(name, record, was);
    else if (was !== undefined) {
      forget(name);
      // One that was with us last is ours to look for.
      if (!connected || controller !== self) lost.set(name, { record, acked: ackedIn(name, was), at: now() });
    }
  }

  function forget(name: string): void {
    moved = attached.delete(name) || moved;
    moved = lost.delete(name) || moved;
  }

  function attach(name: string, record: NodeRecord, was: Attached | undefined): void {
    if (was?.record.controller === record.controller) {
      if (was?.record !== record) attached.set(name, { record, former: was?.former });
      return;
    }
    const here = release(name);
    const former = was === undefined ? (lost.get(name)?.acked ?? here) : ackedIn(name, was);
    lost.delete(name);
    attached.set(name, { record, former });
    moved = true;
  }

  function ackedIn(name: string, { record, former }: Attached): number | undefined {
    const delivery = told.get(record.controller ?? '');
    return (delivery && ackedOf(delivery, name, record.fleet)) ?? former;
  }

  /** A controller whose last proxy of a fleet has gone tells of the fleet no more, before it tells of the proxy. */
  function hear(controller: string, delivery: DeliveryRecord): void {
    const before = told.get(controller);
    if (before === delivery) return;
    const over = new Set(Object.keys(before?.fleets ?? {}).filter((fleet) => delivery.fleets[fleet] === undefined));
    for (const [name, was] of over.size === 0 ? [] : attached) {
      if (was.record.controller !== controller || !over.has(was.record.fleet)) continue;
      attached.set(name, { record: was.record, former: ackedIn(name, was) });
    }
    told.set(controller, delivery);
  }

  return {
    attached,
    lost,
    adopted(names) {
      const others = new Set(controllers.others);
      const all = controllers.edition !== edition;
      edition = controllers.edition;
      moved = false;
      for (const name of all ? new Set([...records.nodes.keys(), ...attached.keys()]) : names) judge(name, others);
      // Afterwards: who is lost had what was told before.
      for (const [controller, delivery] of records.deliveries) hear(controller, delivery);
      return moved;
    },
    sweep() {
      let swept = false;
      for (const [name, { at }] of lost) if (now() - at >= lostMs) swept = lost.delete(name) || swept;
      for (const controller of told.keys()) if (!records.deliveries.has(controller)) told.delete(controller);
      return swept;
    },
  };
}

/** What its controller says that the proxy has; undefined: it did not know of it yet. */
export function ackedOf(
  { revision, fleets }: Pick<DeliveryRecord, 'revision' | 'fleets'>,
  name: string,
  fleet: string,
): number | undefined {
  const delivery = fleets[fleet];
  if (delivery === undefined) return undefined;
  const behind = delivery.behind.find(([node]) => node === name);
  if (behind !== undefined) return behind[1];
  return delivery.more > 0 ? delivery.acked : revision;
}
