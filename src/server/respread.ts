import type { ServerConfig } from '../config/index.ts';
import { durationMs } from '../model/index.ts';
import { planRespread } from '../plan/index.ts';
import type { Logger } from '../telemetry/log.ts';
import type { StreamStatus } from '../xds/index.ts';
import type { Cluster } from './cluster.ts';
import type { Deliveries } from './deliveries.ts';
import type { XdsDoor } from './xds-door.ts';

/** Sends some proxies to controllers that have fewer. One per controller that has an xDS door. */
export interface Respread {
  /** Looks now. Called by itself every second. */
  look(): void;
  close(): void;
}

export interface RespreadOptions {
  readonly config: Pick<ServerConfig, 'respreadAfter'>;
  /** Id of this controller. */
  readonly self: string;
  readonly cluster: { readonly controllers: Pick<Cluster['controllers'], 'list' | 'heardAt'> };
  readonly deliveries: Pick<Deliveries, 'streams' | 'isInStep'>;
  readonly door: Pick<XdsDoor, 'sendElsewhere'>;
  /** Milliseconds since 1970, as streams have it. */
  readonly now: () => number;
  /** Milliseconds that only grow, as controllers are heard of. */
  readonly steadyNow?: () => number;
  readonly log: Pick<Logger, 'info'>;
}

const everyMs = 1_000;
/** Streams ended before it is looked anew at what all have: with records every three seconds, two or three a second. */
const atMost = 10;
/** Long enough for most of those that were ended to be somewhere, and to be counted there. */
const settleMs = 2_000;
/** So old may be what another controller last said: three records missed. */
const staleMs = 10_000;
/** Revisions. While much is written all lag by some. */
const maxLag = 100;
/** Proxies that came back to us are left alone for longer each time, to this: as long as a stream lives. */
const maxRestMs = 12 * 3_600_000;

/** A proxy whose stream was ended here: when it may be again, and how often it was. */
interface Sent {
  readonly times: number;
  readonly until: number;
}

/**
 * What the others have is known from their records, some seconds old. So after some streams were ended nothing is decided
 * before everybody was heard of anew, and nothing at all while the controllers are not the same for `respreadAfter`: they
 * may be restarting one after the other.
 *
 * A proxy that comes back to us may have no other controller to go to. It is asked again after longer and longer times.
 */
export function createRespread(options: RespreadOptions): Respread {
  const { self, cluster, deliveries, door, now, log, steadyNow = () => performance.now() } = options;
  const { controllers } = cluster;
  const afterMs = durationMs(options.config.respreadAfter);
  /** By id of the node, in the order of the last time. */
  const sent = new Map<string, Sent>();
  let endedAt = Number.NEGATIVE_INFINITY;
  let members = '';
  let steadySince = steadyNow();

  function ends(): readonly StreamStatus[] {
    const at = steadyNow();
    const doors = controllers.list().filter(({ xdsAddress }) => xdsAddress !== '');
    const present = doors.map(({ id, startedAt, state }) => `${id} ${startedAt} ${state}`).join();
    if (present !== members) steadySince = at;
    members = present;
    if (at - steadySince < afterMs) return [];
    const streams = deliveries.streams();
    const known = doors.map(({ id, state, lag, proxies }) => {
      const heardAt = controllers.heardAt(id) ?? Number.NEGATIVE_INFINITY;
      const isFresh = heardAt >= Math.max(endedAt + settleMs, at - staleMs);
      return {
        id,
        streams: id === self ? streams.length : proxies,
        isReady: state === 'Ready' && lag <= maxLag && isFresh,
      };
    });
    const count = planRespread(self, known, atMost);
    if (count === 0) return [];
    return streams
      .filter((stream) => now() - stream.openedAt >= afterMs && deliveries.isInStep(stream) && mayGo(stream))
      .toSorted((a, b) => a.openedAt - b.openedAt)
      .slice(0, count);
  }

  function mayGo({ node }: StreamStatus): boolean {
    return (sent.get(node.id)?.until ?? 0) <= now();
  }

  function remember({ id }: StreamStatus['node']): void {
    const times = (sent.get(id)?.times ?? 0) + 1;
    sent.delete(id);
    sent.set(id, { times, until: now() + Math.min(maxRestMs, afterMs * 2 ** times) });
    for (const [old, { until }] of sent) {
      if (now() - until < maxRestMs) break;
      sent.delete(old);
    }
  }

  function look(): void {
    const ended = ends();
    if (ended.length === 0) return;
    endedAt = steadyNow();
    log.info({ event: 'streams_sent_elsewhere', count: ended.length });
    for (const stream of ended) {
      remember(stream.node);
      door.sendElsewhere(stream.streamId, 'other controllers have fewer proxies: open another stream');
    }
  }

  const timer = afterMs === 0 ? undefined : setInterval(look, everyMs);
  timer?.unref();
  return { look, close: () => clearInterval(timer) };
}
