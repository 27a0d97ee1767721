/** A hub with hand-made resources behind a real socket, for peers that know nothing of Fairway, and traffic to them. */
import { request } from 'node:http';
import { systemClock } from '../../src/lib/clock.ts';
import { createLogger } from '../../src/telemetry/log.ts';
import { createHub, type Hub, type HubStream, joinFrame, type Progress, type Resource } from '../../src/xds/index.ts';
import { createXdsServer, type XdsServer } from '../../src/xds/io/index.ts';
import { decodeSotwResponse } from '../../src/xds/sotw-wire.ts';
import { decodeDeltaResponse } from '../../src/xds/wire.ts';
import { until } from './until.ts';

/** A server, and what it sent: each frame in short, `Cluster: c1 -c2`. */
export interface HandServer {
  readonly hub: Hub;
  readonly xds: XdsServer;
  readonly progress: Progress[];
  readonly frames: string[];
  commit(puts: readonly Resource[], removals?: readonly (readonly [string, string])[]): void;
  /** Ends a stream; its client may come back. */
  breakStream(streamId: string): void;
  close(): Promise<void>;
}

/** Serves all streams of the cluster `edge`. */
export async function serveByHand(
  resources: readonly Resource[],
  port = 0,
  { answerMs = 5_000 }: { answerMs?: number } = {},
): Promise<HandServer> {
  const hub = createHub({ random: Math.random, answerMs });
  const frames: string[] = [];
  const progress: Progress[] = [];
  // Notes what passes by, and changes nothing.
  const streams = new Map<string, HubStream>();
  const watched: Hub = {
    ...hub,
    open(...args) {
      const stream = hub.open(...args);
      streams.set(stream.id, stream);
      return stream;
    },
    next(now) {
      const work = hub.next(now);
      if (work?.kind !== 'frame') return work;
      const sotw = hub.fleet.streams().find(({ streamId }) => streamId === work.stream.id)?.protocol === 'sotw';
      frames.push(sotw ? sotwText(joinFrame(work.frame)) : deltaText(joinFrame(work.frame)));
      return work;
    },
  };
  let revision = 1;
  hub.commit({ revision, puts: resources, removals: [], audiences: [{ subject: 'cluster/edge', audiences: ['all'] }] });
  const xds = await createXdsServer({
    hub: watched,
    log: createLogger({ level: 'silent' }),
    listen: { host: '127.0.0.1', port },
    clock: systemClock,
    random: Math.random,
    onProgress: (events) => progress.push(...events),
  });
  return {
    hub,
    xds,
    progress,
    frames,
    commit(puts, removals = []) {
      revision += 1;
      hub.commit({ revision, puts, removals: removals.map(([type, name]) => ({ type, name })), audiences: [] });
    },
    breakStream(streamId) {
      const stream = streams.get(streamId);
      if (stream !== undefined) xds.sendElsewhere(stream, 'the test says so');
    },
    close: () => xds.close({ graceMs: 200 }),
  };
}

function shortType(typeUrl: string): string {
  return `${typeUrl.slice(typeUrl.lastIndexOf('.') + 1)}:`;
}

function deltaText(bytes: Uint8Array): string {
  const decoded = decodeDeltaResponse(bytes);
  if (!decoded.ok) throw new Error(decoded.error);
  const { typeUrl, resources, removed } = decoded.value;
  return [shortType(typeUrl), ...resources.map(({ name }) => name).sort(), ...removed.map((name) => `-${name}`)].join(
    ' ',
  );
}

function sotwText(bytes: Uint8Array): string {
  const decoded = decodeSotwResponse(bytes);
  if (!decoded.ok) throw new Error(decoded.error);
  const { typeUrl, resources } = decoded.value;
  return [shortType(typeUrl), ...resources.map(({ value }) => nameIn(value)).sort()].join(' ');
}

/** All of Envoy's resources have their name, of fewer than 128 bytes here, in field 1. */
function nameIn(value: Uint8Array): string {
  const [tag, length = 0] = value;
  if (tag !== 0x0a) throw new Error('the message does not begin with its name');
  return new TextDecoder().decode(value.subarray(2, 2 + length));
}

/** Waits until a stream has acknowledged all up to the revision. */
export function acked({ hub, frames }: HandServer, revision: number): Promise<unknown> {
  return until(
    `revision ${revision} acknowledged`,
    () => hub.fleet.streams().some((stream) => stream.filledAt !== undefined && stream.ackedRevision >= revision),
    { describe: () => [frames, hub.fleet.streams()] },
  );
}

/** Who answered a request to the listener, or the status when nobody did. */
export function answer(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path: '/' }, (response) => {
      response.resume();
      response.on('end', () => resolve(String(response.headers['x-backend'] ?? response.statusCode)));
    })
      .on('error', reject)
      .end();
  });
}
