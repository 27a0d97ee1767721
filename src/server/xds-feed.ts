import type { ObjectKey } from '../model/index.ts';
import { type NodeObserver, nodeName, type RefusalObserver } from '../observe/index.ts';
import type { Suspect } from '../status/index.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Progress, Rejection } from '../xds/index.ts';
import type { Commits } from './commits.ts';
import type { Deliveries } from './deliveries.ts';
import { shortType } from './proxy-config.ts';

export interface ProgressSinks {
  readonly deliveries: Deliveries;
  readonly commits: Commits;
  readonly nodes: NodeObserver;
  readonly refusals: RefusalObserver;
  readonly metrics: Metrics;
  /** Of the object as it stands; undefined when it is gone. */
  readonly uidOf: (key: ObjectKey) => string | undefined;
  readonly log: Logger;
  /** Proxies acknowledged or refused something. */
  readonly onProgress: () => void;
  /** Proxies came, went or were filled. */
  readonly onProxies: () => void;
}

/** Hands what proxies made of their configuration to those who record it. */
export function createProgressFeed(sinks: ProgressSinks): (progress: readonly Progress[]) => void {
  const { deliveries, nodes, refusals, metrics, log } = sinks;

  function take(event: Progress): void {
    switch (event.kind) {
      case 'opened':
        metrics.streams.inc();
        log.info({
          event: 'proxy_connected',
          nodeId: event.nodeId,
          fleet: event.node.cluster,
          peer: event.peer,
          version: event.node.version,
        });
        nodes.connected({ nodeId: event.nodeId, fleet: event.node.cluster, version: event.node.version }, event.at);
        return;
      case 'closed':
        metrics.streams.dec();
        log.info({ event: 'proxy_disconnected', nodeId: event.nodeId });
        nodes.disconnected(event.nodeId, event.at);
        return;
      case 'rejected': {
        const { type, name, hash, words, scope } = event;
        metrics.rejections.inc({ type: shortType(type), scope });
        log.warn({ event: 'resource_rejected', nodeId: event.nodeId, type, name, scope, words });
        refusals.refused(
          { node: nodeName(event.nodeId), type, name, hash, words, scope, suspects: suspectsOf(event, sinks.uidOf) },
          event.at,
        );
        return;
      }
      case 'stalled':
        metrics.stalls.inc({ reason: event.reason });
        log.warn({
          event: 'proxy_stalled',
          nodeId: event.nodeId,
          reason: event.reason,
          type: event.type,
          names: event.names,
          missing: event.missing,
        });
        return;
      case 'acquitted':
        log.info({ event: 'resource_acquitted', type: event.type, name: event.name });
        return;
      default:
    }
  }

  return (progress) => {
    if (progress.length === 0) return;
    deliveries.observe(progress);
    sinks.commits.observe(progress);
    for (const event of progress) take(event);
    sinks.onProgress();
    if (progress.some(({ kind }) => kind === 'opened' || kind === 'closed' || kind === 'filled')) sinks.onProxies();
  };
}

/** The objects to blame, each with its generation in the refused form and in the last accepted one. */
function suspectsOf({ parts, good, words }: Rejection, uidOf: ProgressSinks['uidOf']): Suspect[] {
  const accepted = new Map(good.map(({ unit, generation }) => [unit, generation]));
  const suspects = new Map<string, Suspect>();
  for (const { unit, generation } of parts) {
    const uid = uidOf(unit);
    if (uid !== undefined)
      suspects.set(unit, { unit, uid, refused: generation, good: accepted.get(unit) ?? null, words });
  }
  return [...suspects.values()];
}
