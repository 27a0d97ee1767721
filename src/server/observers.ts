import type { RefusalLog } from '../api/index.ts';
import type { Adoption, Mirror } from '../control/index.ts';
import { parseObjectKey } from '../model/index.ts';
import {
  createEventObserver,
  createNodeObserver,
  createRefusalObserver,
  type NodeObserver,
  type RefusalObserver,
} from '../observe/index.ts';
import type { Store } from '../store/store.ts';
import type { Hub } from '../xds/index.ts';
import { type Chronicle, createChronicle } from './chronicle.ts';
import type { Deliveries } from './deliveries.ts';
import type { Run } from './run.ts';

/** Who records what is seen of proxies: nodes that come and go, what they refuse, what happened. */
export interface Observers {
  readonly nodes: NodeObserver;
  readonly refusals: RefusalObserver;
  readonly chronicle: Chronicle;
  /** Takes up what earlier runs recorded, as the View has it. */
  takeUp(deliveries: Deliveries): void;
  /** Takes in a step of the View; `restored`: everything in it is another than before. */
  adopted(adoption: Adoption, restored: boolean): void;
  close(): Promise<unknown>;
}

export interface ObserversOptions {
  readonly run: Run;
  readonly store: Store;
  readonly mirror: Mirror;
  readonly hub: Hub;
  readonly refusalLog: RefusalLog;
}

export function createObservers({ run, store, mirror, hub, refusalLog }: ObserversOptions): Observers {
  const { config, replica, now, newId } = run;
  const log = run.logOf('observe');
  const { records } = mirror;
  const isShared = store.election !== undefined;
  const events = createEventObserver({ store, newId, replica, log });
  const chronicle = createChronicle({
    events,
    refusals: refusalLog,
    replica,
    peerOf: (streamId) => hub.fleet.stream(streamId)?.peer,
    now,
  });
  const nodes = createNodeObserver({
    store,
    newId,
    log,
    selfRegistering: config.xdsTls !== 'own',
    onRegistered: (name, { fleet }) => chronicle.joined(name, fleet),
    ...(isShared ? { controller: replica } : {}),
  });
  const refusals = createRefusalObserver({ store, newId, log });
  const isOwn = (controller: string | undefined) => !isShared || controller === undefined || controller === replica;

  return {
    nodes,
    refusals,
    chronicle,
    takeUp(deliveries) {
      const returning = [...records.nodes.values()].filter(
        ({ connected, controller }) => connected && isOwn(controller),
      );
      deliveries.expect(
        returning.map(({ nodeId }) => nodeId),
        now(),
      );
      nodes.reset(records.nodes, now());
      refusals.reset(records.rejections.values());
      events.reset(records.events, now());
    },
    adopted({ changes, over, touched }, restored) {
      for (const { kind, object, last } of changes) {
        if (kind === 'Node' && object === undefined && last !== undefined) nodes.deleted(last.metadata.name);
      }
      for (const rejection of over) refusals.over(rejection);
      if (restored) {
        nodes.restored(records.nodes, now());
        refusals.restored(records.rejections.values());
      } else if (isShared) {
        // Other controllers record too.
        for (const key of touched) {
          const { kind, name } = parseObjectKey(key);
          if (kind === 'Node') nodes.told(name, records.nodes.get(name));
        }
        refusals.told(records.rejections);
      }
    },
    close: () => Promise.all([nodes.close(), refusals.close(), events.close()]),
  };
}
