import { createLogger } from '../../src/telemetry/log.ts';
import { usesOf } from '../../src/translate/lint.ts';
import {
  type ClientStep,
  createDeltaClient,
  encodeNode,
  encodeResource,
  type Resource,
  typeUrls,
  type WireResource,
} from '../../src/xds/index.ts';
import { connectDelta, type DeltaConnection } from '../../src/xds/io/index.ts';
import { decodeDeltaResponse } from '../../src/xds/wire.ts';
import { createToyTally, type ToyTally } from './toy-tally.ts';
import { within } from './until.ts';
import { short } from './xds-rig.ts';

/** A response that came in, in short: `endpoint +default/p`, names sorted, `-` for what was removed. */
export type Frame = string;

/**
 * A proxy without traffic: it takes all clusters and listeners, and asks for what these name before it acknowledges
 * them, as Envoy does.
 */
export interface ToyProxy {
  /** All that came since the last call. */
  takeFrames(): Frame[];
  /** Version of a resource that it has; undefined: it has none. */
  version(type: string, name: string): string | undefined;
  names(type: string): string[];
  /** The encoded message of a resource that it has. */
  value(type: string, name: string): Uint8Array | undefined;
  /** Refuses, from now on, the resources for which `words` gives some. */
  refuse(words: (resource: WireResource) => string | undefined): void;
  /** The next response of the type is lost on its way. */
  lose(type: string): void;
  /** What has come so far. */
  readonly tally: ToyTally;
  /** Leaves its controller for others, and takes along what it has. */
  moveTo(xdsPort: ToyOptions['xdsPort']): Promise<void>;
  /** Stops answering: what comes is neither taken nor acknowledged. */
  close(): void;
}

export interface ToyOptions {
  /** Of a controller on loopback, or of several: it stays with the first one that it reaches. */
  readonly xdsPort: number | readonly number[];
  readonly node: string;
  readonly fleet: string;
}

export async function startToyProxy({ xdsPort, node, fleet }: ToyOptions): Promise<ToyProxy> {
  const asked = new Set<string>();
  const frames: Frame[] = [];
  let refusal: (resource: WireResource) => string | undefined = () => undefined;
  let connection: DeltaConnection | undefined;
  let losing: string | undefined;

  /** Asks for what a resource names. Clusters come unasked. */
  function follow({ typeUrl, name, version, value }: WireResource): void {
    const bytes = encodeResource(name, version, typeUrl, value);
    const resource: Resource = { type: typeUrl, name, bytes, hash: version, audience: '', needs: [], parts: [] };
    for (const use of usesOf(resource)) {
      if (use.type === typeUrls.cluster || asked.has(`${use.type} ${use.name}`)) continue;
      asked.add(`${use.type} ${use.name}`);
      connection?.subscribe(use.type, [use.name]);
    }
  }

  const client = createDeltaClient({
    node: encodeNode({ id: node, cluster: fleet, userAgent: 'toy', version: '1.0.0' }),
    check(_type, resource) {
      const words = refusal(resource);
      if (words === undefined) follow(resource);
      return words;
    },
  });
  for (const type of [typeUrls.cluster, typeUrls.listener]) client.subscribe(type, ['*']);
  const tally = createToyTally((type) => client.resources(type));
  const receive = (bytes: Uint8Array): ClientStep => {
    const decoded = decodeDeltaResponse(bytes);
    tally.see(bytes, decoded);
    if (!decoded.ok || decoded.value.typeUrl !== losing) return client.receive(bytes);
    losing = undefined;
    return { requests: [], typeUrl: decoded.value.typeUrl, changed: [], removed: [], refused: undefined };
  };
  const connect = (to: ToyOptions['xdsPort']): Promise<DeltaConnection> =>
    connectDelta({
      client: { ...client, receive },
      address: `ipv4:${[to].flat().map((port) => `127.0.0.1:${port}`)}`,
      log: createLogger({ level: 'silent' }),
      random: Math.random,
      retry: { baseMs: 50, maxMs: 200 },
      onStep({ typeUrl, changed, removed, refused }) {
        const names = [...changed.map(({ name }) => `+${name}`), ...removed.map((name) => `-${name}`)].sort();
        frames.push([short(typeUrl), ...names, ...(refused === undefined ? [] : ['refused'])].join(' '));
      },
      onEnded() {
        tally.ended += 1;
      },
    });
  connection = await connect(xdsPort);

  return {
    takeFrames: () => frames.splice(0),
    version: (type, name) => client.resources(type).get(name)?.version,
    names: (type) => [...client.resources(type).keys()].sort(),
    value: (type, name) => client.resources(type).get(name)?.value,
    refuse(words) {
      refusal = words;
    },
    lose(type) {
      losing = type;
    },
    tally,
    async moveTo(to) {
      await within(`the stream of ${node} to end`, connection?.close());
      connection = await connect(to);
    },
    close: () => void connection?.close(),
  };
}
