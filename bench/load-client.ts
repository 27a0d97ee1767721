/** The streams of a bench: the load client of bench/peers. Resources are not decoded there. */
import { type Child, type Event, startChild } from './child.ts';
import { fleet } from './pools.ts';
import type { Server, World } from './servers.ts';

export interface LoadOptions {
  readonly program: string;
  readonly server: Server;
  readonly world: World;
  readonly streams: number;
  readonly streamsPerConnection: number;
}

/** The most that a stream received, by type URL. */
export interface StreamBytes {
  readonly bytes: Readonly<Record<string, number>>;
}

export interface Lags {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** Times that a stream saw only a newer change of the same pool. */
  readonly overtaken: number;
  /** Times that a stream saw neither a change nor a newer one. */
  readonly missing: number;
}

export interface LoadClient {
  readonly child: Child;
  /** Opens all streams at once. Milliseconds until the last one had everything. */
  connect(): Promise<StreamBytes & { readonly ms: number }>;
  disconnect(): Promise<void>;
  /** Opens all streams with what they had, and waits until nothing comes any more. */
  reconnect(): Promise<StreamBytes>;
  /** When the last stream acknowledged a change, by {@link monotonicNanos}. */
  arrived(change: number): Promise<number>;
  lags(first: number, starts: readonly number[]): Promise<Lags>;
  close(): Promise<void>;
}

export function startLoad({ program, server, world, streams, streamsPerConnection }: LoadOptions): LoadClient {
  const child = startChild({
    name: 'load',
    program,
    args: [
      'load',
      `-target=127.0.0.1:${server.xdsPort}`,
      `-streams=${streams}`,
      `-per-connection=${streamsPerConnection}`,
      `-cluster=${fleet}`,
      `-resources=${world.resources}`,
    ],
    lines: 'stdout',
  });
  async function ask<T>(command: { readonly do: string } & Event, answer: string): Promise<T> {
    child.tell(command);
    return (await child.next(answer, (event) => (event['event'] === answer ? event : undefined))) as T;
  }
  return {
    child,
    connect: () => ask({ do: 'connect' }, 'filled'),
    async disconnect() {
      await ask({ do: 'disconnect' }, 'disconnected');
    },
    reconnect: () => ask({ do: 'reconnect' }, 'reconnected'),
    async arrived(change) {
      return (await ask<{ last: number }>({ do: 'await', change }, 'arrived')).last;
    },
    lags: (first, starts) => ask({ do: 'lags', first, starts, pools: world.pools }, 'lags'),
    close: () => child.close(),
  };
}
