import { X509Certificate } from 'node:crypto';
import type { Adoption, Mirror } from '../control/index.ts';
import type { LiveTls } from '../lib/tls-files.ts';
import { type ObjectKey, parseObjectKey } from '../model/index.ts';
import { createDeliveryObserver, createPresence, nodeName } from '../observe/index.ts';
import { createControllerKey } from '../pki/index.ts';
import type { ControllerRecord } from '../status/index.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Hub } from '../xds/index.ts';
import { type Controllers, createControllers } from './controllers.ts';
import type { Deliveries } from './deliveries.ts';
import { summaryOf } from './delivery-summary.ts';
import type { MeasuredStore } from './measured-store.ts';
import { createPeers, type Peers, type PeersOptions } from './peers.ts';
import { createJoin, createRemoteDeliveries } from './remote-deliveries.ts';
import { createRemoteProxies } from './remote-proxies.ts';

/** What this controller knows of the others, and tells them. One per controller, also of one that is alone. */
export interface Cluster {
  readonly controllers: Controllers;
  /** Of this run of this controller. */
  readonly run: string;
  readonly peers: Peers;
  /** How far all proxies are, wherever they are connected. */
  readonly deliveries: Pick<Deliveries, 'of' | 'ofFleet'>;
  /** Of a proxy with another controller. */
  readonly ofNode: (name: string) => ReturnType<Deliveries['ofFleet']>[number] | undefined;
  adopted(adoption: Adoption): void;
  /** Our proxies acknowledged or refused something. */
  progressed(): void;
  /** Proxies of ours came or went. */
  proxiesChanged(): void;
  /** Forgets proxies that have been lost for long, wherever that was; true when there were any. */
  sweep(): boolean;
  /** All doors are open: the others may know. */
  open(doors: { readonly address: string; readonly xdsAddress: string }): void;
  /** This controller has begun to lead, or has stopped. */
  led(): void;
  /** Takes what was told of it back. */
  close(): Promise<void>;
}

export interface ClusterOptions {
  readonly id: string;
  /** Of this run of the process. */
  readonly run: string;
  readonly version: string;
  readonly roles: readonly string[];
  readonly mirror: Mirror;
  readonly store: MeasuredStore;
  readonly hub: Hub;
  /** Those of our own proxies. */
  readonly deliveries: Deliveries;
  readonly leading: () => { readonly term: number; readonly since: number } | undefined;
  /** Of the REST door; undefined: plain text. */
  readonly restTls: LiveTls | undefined;
  /** Others have told how far their proxies are. */
  readonly onTold: () => void;
  /** Proxies of others came, moved or were lost. */
  readonly onProxies: () => void;
  /** Another controller was asked. */
  readonly onPeerHeard: NonNullable<PeersOptions['onHeard']>;
  readonly now: () => number;
  readonly newId: () => string;
  readonly log: Logger;
}

/** Steps of the View of which it is known what they changed. */
const maxSteps = 1_000;

export function createCluster(options: ClusterOptions): Cluster {
  const { id, mirror, store, hub, deliveries, now, newId, log } = options;
  const { records } = mirror;
  const shared = store.election !== undefined;
  const startedAt = new Date(now()).toISOString();
  const processor = createProcessorMeter();
  const key = createControllerKey();
  let doors = { address: '', xdsAddress: '' };
  /** Oldest first: a step of the View, and the newest revision up to it that changed what is served. */
  let steps: { readonly revision: number; readonly needed: number }[] = [];
  let needed = 0;
  let toldBy: ReadonlyMap<string, unknown> = new Map();

  const self = (): ControllerRecord => {
    const leading = options.leading();
    return {
      id,
      run: options.run,
      ...doors,
      key: key.publicKey,
      ...certificateOf(options.restTls),
      version: options.version,
      roles: options.roles,
      startedAt,
      seenAt: new Date(now()).toISOString(),
      leading: leading === undefined ? null : { term: leading.term, since: new Date(leading.since).toISOString() },
      revision: mirror.revision,
      lag: Math.max(0, store.newestHeard - mirror.revision),
      proxies: deliveries.streams().length,
      memoryBytes: process.memoryUsage.rss(),
      cpu: processor.read(),
    };
  };
  const controllers = createControllers({ records, self, shared, now: () => performance.now() });
  const isHere = (name: string) => deliveries.ofNode(name) !== undefined;
  const proxies = createRemoteProxies({
    ...{ self: id, records, controllers, isHere },
    release: (name) => deliveries.release(name),
    now: () => performance.now(),
  });
  const remote = createRemoteDeliveries({
    records,
    proxies,
    audiencesOf: (node) => hub.table.audiencesOf(node),
    isHere,
    neededAt,
    revision: () => hub.table.revision,
  });
  const join = createJoin();
  const peers = createPeers({
    ...{ id, key, records, now, onHeard: options.onPeerHeard },
    isAlive: (other) => controllers.isAlive(other),
  });

  /** Of steps that are long ago the oldest known one stands for all: that asks for no less than is needed. */
  function neededAt(revision: number): number {
    let found = steps[0]?.needed ?? needed;
    let low = 0;
    let high = steps.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const step = steps[middle] as (typeof steps)[number];
      if (step.revision <= revision) {
        found = step.needed;
        low = middle + 1;
      } else high = middle;
    }
    return Math.min(found, revision);
  }

  const observer = shared
    ? createDeliveryObserver({
        store,
        id,
        newId,
        log,
        read: () => ({
          record: summaryOf({
            streams: deliveries.streams(),
            isInStep: (stream) => deliveries.isInStep(stream),
            nodeName,
            revision: hub.marked ? mirror.revision : hub.markedRevision,
          }),
          needed,
        }),
      })
    : undefined;
  let presence: ReturnType<typeof createPresence> | undefined;
  const unfollow = options.restTls?.onChange(() => presence?.tell());

  /** Whether another controller has told something new. */
  function wasTold(): boolean {
    const before = toldBy;
    toldBy = new Map([...records.deliveries].filter(([from]) => from !== id));
    return toldBy.size !== before.size || [...toldBy].some(([from, record]) => before.get(from) !== record);
  }

  return {
    controllers,
    run: options.run,
    peers,
    deliveries: {
      of(resource, unit) {
        const here = deliveries.of(resource, unit);
        const entry = remote.isEmpty ? undefined : hub.table.get(resource.type, resource.name);
        return entry === undefined ? here : join(here, remote.of(entry));
      },
      ofFleet: (fleet) => join(deliveries.ofFleet(fleet), remote.ofFleet(fleet)),
    },
    ofNode: (name) => remote.ofNode(name),
    adopted(adoption) {
      needed = adoption.needed;
      steps.push({ revision: adoption.revision, needed });
      if (steps.length > 2 * maxSteps) steps = steps.slice(-maxSteps);
      if (!shared) return;
      const { edition } = controllers;
      controllers.adopted();
      const moved = proxies.adopted(nodesIn(adoption.touched));
      remote.adopted();
      observer?.changed();
      if (wasTold() || controllers.edition !== edition) options.onTold();
      if (moved) options.onProxies();
    },
    progressed: () => observer?.changed(),
    proxiesChanged: () => remote.adopted(),
    sweep() {
      const [here, there] = [deliveries.sweep(now()), proxies.sweep()];
      if (there) remote.adopted();
      return here || there;
    },
    open(opened) {
      doors = opened;
      if (shared) presence = createPresence({ store, id, read: self, newId, log });
    },
    led: () => presence?.tell(),
    async close() {
      unfollow?.();
      await observer?.close();
      await presence?.close();
    },
  };
}

/** Names of the Nodes among objects. */
function* nodesIn(keys: Iterable<ObjectKey>): Generator<string> {
  for (const key of keys) {
    const { kind, name } = parseObjectKey(key);
    if (kind === 'Node') yield name;
  }
}

/** What the REST door shows to whoever connects. */
function certificateOf(tls: LiveTls | undefined): Pick<ControllerRecord, 'certificate'> {
  return tls === undefined ? {} : { certificate: new X509Certificate(tls.current.cert).fingerprint256 };
}

/** Share of one processor that this process uses, over the time between two readings. */
function createProcessorMeter(): { read(): number } {
  let [usage, at] = [process.cpuUsage(), performance.now()];
  let last = 0;
  return {
    read() {
      const elapsedMs = performance.now() - at;
      // Too short to say anything: somebody else has read it just now.
      if (elapsedMs < 500) return last;
      const { user, system } = process.cpuUsage(usage);
      [usage, at] = [process.cpuUsage(), performance.now()];
      last = Math.round((user + system) / 10 / elapsedMs) / 100;
      return last;
    },
  };
}
