import { type Load, type LoadCount, startLoad } from './load.ts';
import { shop } from './stage.ts';
import { type Client, createClient } from './traffic.ts';
import type { Wait } from './until.ts';

/** Clients that go on asking while something is changed. */

export const perSecond = 300;
export const concurrency = 16;
/** A minute of it: no step takes that long. */
const maxRequests = perSecond * 60;

export interface LoadedListener {
  readonly port: number;
  /** HTTPS: as for clients. */
  readonly trusted?: string;
}

/**
 * Makes a change under constant load on the shop's `/` and gives what `change` gave with the final count. Fails when a
 * single request failed. What `change` waits for, it sees in `load.count`.
 */
export async function underLoad<T>(
  listener: LoadedListener,
  progress: (text: string) => void,
  change: (load: Load) => Promise<T>,
): Promise<{ readonly result: T; readonly count: LoadCount }> {
  const client = createClient({ ...listener, connections: concurrency });
  const load = startLoad({
    send: () => askShop(client),
    perSecond,
    concurrency,
    maxRequests,
    onCount: ({ requests, failed }) => progress(`${requests} requests, ${failed} failed`),
  });
  let result: T;
  try {
    result = await change(load);
  } finally {
    await load.stop();
    client.close();
  }
  const { count } = load;
  if (count.failed > 0) {
    throw new Error(`${count.failed} of ${count.requests} requests failed: ${count.failures.join('; ')}`);
  }
  return { result, count };
}

/** Name of the backend that answered for the shop. Anything but a good answer of a backend is a failure. */
export async function askShop(client: Client): Promise<string> {
  const { status, backend } = await client.get(shop.host, '/');
  if (status !== 200 || backend === undefined) throw new Error(`status ${status}`);
  return backend;
}

/** `1,234 requests, 0 failed`. */
export function countWords({ requests, failed }: Pick<LoadCount, 'requests' | 'failed'>): string {
  return `${requests.toLocaleString('en')} requests, ${failed} failed`;
}

/** Lets the load go on for so many further requests. */
export async function furtherRequests(load: Load, number: number, wait: Wait): Promise<LoadCount> {
  const enough = load.count.requests + number;
  return wait(() => {
    const { count } = load;
    return count.requests >= enough ? count : undefined;
  }, `${number} further requests`);
}
