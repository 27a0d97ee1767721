import type { Answer, Controller, TestCluster } from '../controllers.ts';
import { freePort } from '../ports.ts';
import { createLink, type Link } from './link.ts';

/** One controller of a cluster: its name, its ports and its way to etcd stay while its processes come and go. */
export interface Seat {
  readonly name: string;
  readonly xdsPort: number;
  readonly link: Link;
  /** Its process, or the last one that it had. */
  readonly controller: Controller;
  /** Milliseconds since the epoch between which it took itself for the leader, as far as it could do anything. */
  readonly terms: readonly Term[];
  /** When it last said that it leads no more. */
  readonly lostAt: number | undefined;
  call: Controller['call'];
  /** Resolves when it is ready. */
  start(): Promise<void>;
  /** Ends it at once. */
  kill(): Promise<void>;
  /** Lets it leave in good order. */
  stop(): Promise<void>;
  /** Stands still, its connections open. */
  freeze(): void;
  thaw(): void;
  close(): Promise<void>;
}

export interface Term {
  readonly term: number;
  readonly from: number;
  readonly to: number;
}

/** An answer that never came; callers count it with those that say no. */
export const noAnswer = 0;

export async function createSeat(cluster: TestCluster, name: string): Promise<Seat> {
  const [port, xdsPort] = [await freePort(), await freePort()];
  const link = await createLink(cluster.etcd.members);
  const terms: { term: number; from: number; to: number }[] = [];
  let controller: Controller | undefined;
  let lostAt: number | undefined;

  function endTerm(at: number): void {
    const last = terms.at(-1);
    if (last !== undefined) last.to = Math.min(last.to, at);
  }

  function onLine(line: string): void {
    if (!line.includes('"leadership_')) return;
    const { event, time, term } = JSON.parse(line) as { event: string; time: string; term: number };
    const at = Date.parse(time);
    if (event === 'leadership_won') terms.push({ term, from: at, to: Number.POSITIVE_INFINITY });
    else {
      lostAt = at;
      endTerm(at);
    }
  }

  function running(): Controller {
    if (controller === undefined) throw new Error(`${name} was never started`);
    return controller;
  }

  return {
    name,
    xdsPort,
    link,
    terms,
    get controller() {
      return running();
    },
    get lostAt() {
      return lostAt;
    },
    call: (...request) => running().call(...request),
    async start() {
      const flags = ['--listen', `127.0.0.1:${port}`, '--xds-listen', `127.0.0.1:${xdsPort}`];
      controller = await cluster.start(name, { endpoints: link.urls.join(','), flags, onLine });
    },
    async kill() {
      await running().kill();
      endTerm(Date.now());
    },
    async stop() {
      endTerm(Date.now());
      const { code } = await running().stop();
      if (code !== 0)
        throw new Error(`${name} was told to stop and ended with ${code}: ${running().output().slice(-5_000)}`);
    },
    freeze() {
      running().pause();
      endTerm(Date.now());
    },
    thaw: () => running().resume(),
    close: () => link.close(),
  };
}

/** Pairs of terms that ran at the same time. */
export function doubleLeaders(seats: readonly Seat[]): string[] {
  const all = seats.flatMap(({ name, terms }) => terms.map((term) => ({ name, ...term })));
  const inOrder = all.toSorted((a, b) => a.from - b.from);
  return inOrder.flatMap((one, i) =>
    inOrder
      .slice(i + 1)
      .filter(({ from }) => from < one.to)
      .map((other) => `${other.name} led from ${other.from - one.from} ms after ${one.name} had begun, which went on`),
  );
}

/** The answer, or one that stands for none. */
export async function answerOf(
  asked: Promise<Answer>,
): Promise<Pick<Answer, 'status' | 'body'> & { headers?: Headers }> {
  return asked.catch((error: unknown) => ({ status: noAnswer, body: String(error) }));
}
