import type { FairwayObject, ObjectKey } from '../model/index.ts';
import { type NodeObserver, nodeName, type Refusal, type RefusalObserver } from '../observe/index.ts';
import type { Suspect } from '../status/index.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Blame, Progress } from '../xds/index.ts';
import type { Commits } from './commits.ts';
import type { Deliveries } from './deliveries.ts';
import type { Measurements } from './measurements.ts';

export interface ProgressSinks {
  readonly deliveries: Deliveries;
  readonly commits: Commits;
  readonly nodes: NodeObserver;
  readonly refusals: RefusalObserver;
  readonly measurements: Pick<Measurements, 'seen'>;
  /** The object as it stands; undefined when it is gone. */
  readonly objectOf: (key: ObjectKey) => FairwayObject | undefined;
  /** For what is told of it to people. */
  readonly happened: (event: Progress) => void;
  readonly log: Logger;
  /** Proxies acknowledged or refused something. */
  readonly onProgress: () => void;
  /** Proxies came, went or were filled. */
  readonly onProxies: () => void;
}

/** Hands what proxies made of their configuration to those who record it. */
export function createProgressFeed(sinks: ProgressSinks): (progress: readonly Progress[]) => void {
  const { deliveries, nodes, refusals, log } = sinks;

  function take(event: Progress): void {
    switch (event.kind) {
      case 'opened':
        log.info({
          event: 'proxy_connected',
          nodeId: event.nodeId,
          fleet: event.node.cluster,
          peer: event.peer,
          version: event.node.version,
        });
        nodes.connected(
          { nodeId: event.nodeId, fleet: event.node.cluster, version: event.node.version, peer: event.peer },
          event.at,
        );
        return;
      case 'closed':
        log.info({ event: 'proxy_disconnected', nodeId: event.nodeId });
        nodes.disconnected(event.nodeId, event.at);
        return;
      case 'rejected': {
        const { type, name, words, scope } = event;
        log.warn({ event: 'resource_rejected', nodeId: event.nodeId, type, name, scope, words });
        // What only some proxies refuse is told of these proxies, as long as they are there.
        if (scope === 'convicted') refusals.refused(refusalOf(event, nodeName(event.nodeId)), event.at);
        return;
      }
      case 'withheld':
        log.warn({ event: 'resource_withheld', type: event.type, name: event.name, words: event.words });
        refusals.refused(refusalOf(event, undefined), event.at);
        return;
      case 'foreign':
        log.warn({
          event: 'secret_refused',
          nodeId: event.nodeId,
          fleet: event.cluster,
          type: event.type,
          name: event.name,
        });
        return;
      case 'stalled':
        log.warn({
          event: 'proxy_stalled',
          nodeId: event.nodeId,
          reason: event.reason,
          type: event.type,
          names: event.names,
          missing: event.missing,
        });
        return;
      case 'proven':
        log.info({ event: 'resource_accepted', type: event.type, name: event.name, acquitted: event.acquitted });
        refusals.accepted(event);
        return;
      default:
    }
  }

  function refusalOf(blame: Blame, node: string | undefined): Refusal {
    const { type, name, hash, revision, words, version, good } = blame;
    const accepted = good && { hash: good.hash, revision: good.revision };
    return { type, name, hash, revision, words, version, node, accepted, suspects: suspectsOf(blame, sinks.objectOf) };
  }

  return (progress) => {
    if (progress.length === 0) return;
    deliveries.observe(progress);
    sinks.commits.observe(progress);
    sinks.measurements.seen(progress);
    for (const event of progress) {
      take(event);
      sinks.happened(event);
    }
    sinks.onProgress();
    if (progress.some(({ kind }) => kind === 'opened' || kind === 'closed' || kind === 'filled')) sinks.onProxies();
  };
}

/** The objects to blame, each with its generation in the refused form and in the one accepted last. */
function suspectsOf({ parts, good }: Blame, objectOf: ProgressSinks['objectOf']): Suspect[] {
  const accepted = new Map(good?.parts.map(({ unit, generation }) => [unit, generation]));
  const suspects = new Map<string, Suspect>();
  for (const { unit, generation } of parts) {
    const object = objectOf(unit)?.metadata;
    // What was accepted was another object of the same name.
    const isNewer = object !== undefined && good !== undefined && Number(object.createdRevision) > good.revision;
    // One that is gone stays in the list: it may have been the culprit, so the others are not known to be.
    const uid = object?.uid ?? '';
    suspects.set(unit, { unit, uid, refused: generation, good: isNewer ? null : (accepted.get(unit) ?? null) });
  }
  return [...suspects.values()];
}
