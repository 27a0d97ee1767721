/** Requests to the controllers that go on while something is taken away; each is accounted for by whom it went to. */
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../until.ts';
import { poolManifest, poolPath } from './objects.ts';
import { answerOf, noAnswer, type Seat } from './seat.ts';

export interface Failure {
  readonly seat: string;
  readonly why: string;
  /** Of the request. */
  readonly ms: number;
  readonly status: number;
  readonly retryAfter: string | null;
}

export interface Writes {
  readonly sent: number;
  readonly acknowledged: number;
  readonly failures: readonly Failure[];
  /** The longest of those that one of these acknowledged. */
  longestMs(seats: readonly Seat[]): number;
  /** How many were acknowledged a second since the begin, until the end. */
  perSecond(): number;
  /** Nobody writes to these any more. */
  leave(...seats: readonly Seat[]): void;
  /** Writes to all again. */
  rejoin(): void;
  /** No further one is begun; resolves when those under way have ended. */
  stop(): Promise<void>;
  /** What was acknowledged and is not there, by each of these controllers. After `stop`. */
  lost(seats: readonly Seat[]): Promise<string[]>;
}

/** Under way at one controller: one that does not answer must not use up those of the others. */
const slotsPerSeat = 20;

const tickMs = 5;

/** How long a controller may take to have what others acknowledged. */
const followLimitMs = 10_000;

/**
 * So many writes a second, to all controllers in turn, each of a pool of its own that nothing uses. A pool is written
 * by one after another, so that what it must be is known.
 */
export function startWrites(seats: readonly Seat[], perSecond: number): Writes {
  const began = performance.now();
  /** Of a pool: the value acknowledged last, and those that may have been written after it. */
  const written = new Map<string, { acknowledged: string | undefined; unknown: Set<string> }>();
  const unanswered = new Map<string, readonly string[]>();
  const slots = new Map(seats.map((seat) => [seat, Array.from({ length: slotsPerSeat }, (_, n) => n)]));
  const failures: Failure[] = [];
  const underWay = new Set<Promise<void>>();
  let left = new Set<Seat>();
  const longest = new Map<Seat, number>();
  let [sent, acknowledged, turn, due] = [0, 0, 0, 0];
  let endedMs: number | undefined;

  async function write(seat: Seat, slot: number): Promise<void> {
    sent += 1;
    const name = `written-${seat.name}-${slot}`;
    // A value that the run writes once.
    const value = `${1 + (sent % 250_000)}ms`;
    const of = written.get(name) ?? { acknowledged: undefined, unknown: new Set<string>() };
    written.set(name, of);
    of.unknown.add(value);
    const begun = performance.now();
    const object = poolManifest(name, [], { connectTimeout: value });
    const { status, body, headers } = await answerOf(seat.call('PUT', poolPath(name), object));
    const ms = performance.now() - begun;
    if (status >= 200 && status < 300) {
      acknowledged += 1;
      longest.set(seat, Math.max(longest.get(seat) ?? 0, ms));
      of.acknowledged = value;
      of.unknown = new Set(unanswered.get(name));
    } else {
      // It may still be on its way to a controller that stood still, and arrive after the next ones.
      if (status === noAnswer) unanswered.set(name, [...(unanswered.get(name) ?? []), value]);
      const why = `${status} after ${Math.round(ms)} ms ${JSON.stringify(body)}`;
      failures.push({ seat: seat.name, why, ms, status, retryAfter: headers?.get('retry-after') ?? null });
    }
    slots.get(seat)?.push(slot);
  }

  const ticking = setInterval(() => {
    const now = Math.floor(((performance.now() - began) / 1000) * perSecond);
    for (; due < now; due += 1) {
      const open = seats.filter((seat) => !left.has(seat) && (slots.get(seat)?.length ?? 0) > 0);
      turn += 1;
      const seat = open[turn % open.length];
      const slot = seat === undefined ? undefined : slots.get(seat)?.pop();
      if (seat === undefined || slot === undefined) continue;
      const writing = write(seat, slot);
      underWay.add(writing);
      void writing.finally(() => underWay.delete(writing));
    }
  }, tickMs);

  async function lostAt(seat: Seat): Promise<string[]> {
    let missing = [`${seat.name} was not heard`];
    const look = async (): Promise<boolean> => {
      const values = await connectTimeoutsOf(seat);
      missing = [...written].flatMap(([name, { acknowledged: wanted, unknown }]) => {
        const value = values.get(name);
        if (wanted === undefined || value === wanted || (value !== undefined && unknown.has(value))) return [];
        return [`${seat.name} has ${name} with ${value}, not ${wanted}`];
      });
      return missing.length === 0;
    };
    await until('all that was acknowledged', look, { limitMs: followLimitMs, everyMs: 100 }).catch(() => undefined);
    return missing;
  }

  return {
    get sent() {
      return sent;
    },
    get acknowledged() {
      return acknowledged;
    },
    failures,
    longestMs: (of) => Math.max(...of.map((seat) => longest.get(seat) ?? 0)),
    perSecond: () => (acknowledged / ((endedMs ?? performance.now()) - began)) * 1000,
    leave(...gone) {
      left = new Set(gone);
    },
    rejoin() {
      left = new Set();
    },
    async stop() {
      clearInterval(ticking);
      endedMs ??= performance.now();
      await Promise.all(underWay);
    },
    lost: async (targets) => (await Promise.all(targets.map(lostAt))).flat(),
  };
}

async function connectTimeoutsOf(seat: Seat): Promise<Map<string, string>> {
  const values = new Map<string, string>();
  let next = '';
  do {
    const { body } = await seat.call('GET', `/v1/backend-pools?limit=500${next}`);
    for (const { metadata, spec } of body.items) values.set(metadata.name, spec.connectTimeout);
    next = body.metadata.continue === undefined ? '' : `&continue=${body.metadata.continue}`;
  } while (next !== '');
  return values;
}

export interface Reads {
  readonly failures: readonly Failure[];
  /** When each controller, by name, said first how old its answer may be; `performance.now()`. */
  readonly agedAt: ReadonlyMap<string, number>;
  stop(): Promise<void>;
}

const readEveryMs = 25;

/** Reads of each of these controllers, one after another; one that does not have what `has` looks for is a failure. */
export function startReads(seats: readonly Seat[], path: string, has: (body: unknown) => boolean = () => true): Reads {
  const agedAt = new Map<string, number>();
  const failures: Failure[] = [];
  let stopped = false;
  const reading = seats.map(async (seat) => {
    while (!stopped) {
      const begun = performance.now();
      const { status, body, headers } = await answerOf(seat.call('GET', path));
      const ms = performance.now() - begun;
      if (headers?.has('fairway-view-age') && !agedAt.has(seat.name)) agedAt.set(seat.name, performance.now());
      if (status !== 200 || !has(body)) {
        const why = `${status} ${JSON.stringify(body).slice(0, 300)}`;
        failures.push({ seat: seat.name, why, ms, status, retryAfter: headers?.get('retry-after') ?? null });
      }
      await sleep(readEveryMs);
    }
  });
  return {
    agedAt,
    failures,
    async stop() {
      stopped = true;
      await Promise.all(reading);
    },
  };
}

export const wordsOf = (failures: readonly Failure[]): string[] => failures.map(({ seat, why }) => `${seat}: ${why}`);

export interface Increments {
  stop(): Promise<void>;
  readonly made: number;
  /** Increments that were acknowledged and do not show. After `stop`. */
  lost(): Promise<string[]>;
}

/** Each controller is asked to add one to the same number, over and over, by read and conditional write. */
export async function startIncrements(seats: readonly Seat[]): Promise<Increments> {
  const path = poolPath('counter');
  const counter = (n: number) => ({
    ...poolManifest('counter', []),
    metadata: { name: 'counter', labels: { n: String(n) } },
  });
  const [first] = seats as [Seat];
  await first.call('PUT', path, counter(0));
  let [made, unknown, stopped] = [0, 0, false];
  const adding = seats.map(async (seat) => {
    while (!stopped) {
      const { status, body } = await answerOf(seat.call('GET', path));
      if (status !== 200) continue;
      const { revision, labels } = body.metadata;
      const next = counter(Number(labels.n) + 1);
      const answer = await answerOf(seat.call('PUT', path, next, { 'if-match': `"${revision}"` }));
      if (answer.status === 200) made += 1;
      // Another one was faster: nothing was written.
      else if (answer.status !== 409) unknown += 1;
    }
  });
  return {
    get made() {
      return made;
    },
    async stop() {
      stopped = true;
      await Promise.all(adding);
    },
    async lost() {
      const newest = await Promise.all(
        seats.map(async (seat) => Number((await seat.call('GET', path)).body.metadata.labels.n)),
      );
      const n = Math.max(...newest);
      if (n >= made && n <= made + unknown) return [];
      return [`the number is ${n}; ${made} were added, and ${unknown} perhaps`];
    },
  };
}
