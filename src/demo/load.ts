/** A constant load of requests and what became of them. Bounded in rate, in number and in what is under way. */

export interface LoadOptions {
  /** One request; gives the name of the backend that answered, and rejects when the request failed. */
  readonly send: () => Promise<string>;
  readonly perSecond: number;
  /** Most requests under way at a time. */
  readonly concurrency: number;
  /** No further ones are sent after so many. */
  readonly maxRequests: number;
  /** Told after each answer. */
  readonly onCount?: (count: LoadCount) => void;
}

/** What became of the requests so far; those under way do not count. */
export interface LoadCount {
  readonly requests: number;
  readonly failed: number;
  /** Good answers of each backend. */
  readonly answers: ReadonlyMap<string, number>;
  /** The first few failures in words. */
  readonly failures: readonly string[];
}

export interface Load {
  readonly count: LoadCount;
  /** Sends no more, waits for what is under way, and gives the final count. */
  stop(): Promise<LoadCount>;
}

/** How often it is looked whether requests are due. */
const tickMs = 5;
const maxFailures = 3;

export function startLoad({ send, perSecond, concurrency, maxRequests, onCount }: LoadOptions): Load {
  const answers = new Map<string, number>();
  const failures: string[] = [];
  const underWay = new Set<Promise<void>>();
  const began = performance.now();
  let sent = 0;
  let requests = 0;
  let failed = 0;
  const count = (): LoadCount => ({ requests, failed, answers: new Map(answers), failures });

  async function one(): Promise<void> {
    try {
      const backend = await send();
      answers.set(backend, (answers.get(backend) ?? 0) + 1);
    } catch (error) {
      failed++;
      if (failures.length < maxFailures) failures.push(error instanceof Error ? error.message : String(error));
    }
    requests++;
    onCount?.(count());
  }

  const timer = setInterval(() => {
    const due = Math.min(Math.floor(((performance.now() - began) / 1000) * perSecond), maxRequests);
    // What could not be sent in time for want of a free place is sent later: the load is never higher than asked for.
    for (; sent < due && underWay.size < concurrency; sent++) {
      const request = one().finally(() => underWay.delete(request));
      underWay.add(request);
    }
  }, tickMs);

  return {
    get count() {
      return count();
    },
    async stop() {
      clearInterval(timer);
      await Promise.all(underWay);
      return count();
    },
  };
}

/** Each backend's part of the answers that came between two counts, from 0 to 1. */
export function sharesBetween(before: LoadCount, after: LoadCount): ReadonlyMap<string, number> {
  const answered = [...after.answers].map(([name, n]) => [name, n - (before.answers.get(name) ?? 0)] as const);
  const total = answered.reduce((sum, [, n]) => sum + n, 0);
  return new Map(answered.map(([name, n]) => [name, total === 0 ? 0 : n / total]));
}
