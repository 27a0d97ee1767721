import { createServer } from 'node:net';

/**
 * Below the range from which systems take ports for outgoing connections (from 32768 on Linux), so that a port that is
 * free now is not taken by a connection before its owner has opened it.
 */
const range = { first: 20_000, last: 29_999 };

/** Of ports tried for each one that is wanted: a machine on which this many are taken in a row has other problems. */
const maxTries = 200;

/** Ports on 127.0.0.1 that nobody listens on, all different, chosen at random so that demos side by side do not meet. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  for (let tries = 0; ports.size < count; tries++) {
    if (tries >= maxTries * count) throw new Error(`no ${count} free ports from ${range.first} to ${range.last}`);
    const port = range.first + Math.floor(Math.random() * (range.last - range.first + 1));
    if (!ports.has(port) && (await isFree(port))) ports.add(port);
  }
  return [...ports];
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
