import { Agent, request } from 'node:http';

/** Requests that go on until `stop`, a few at a time over kept connections. */
export interface Load {
  readonly sent: number;
  readonly failures: readonly string[];
  /** Ends when the requests under way have ended. */
  stop(): Promise<{ readonly sent: number; readonly failures: readonly string[] }>;
}

/** A request failed when it got no answer, or one that `accept` does not take (by default any status but 200). */
export function startLoad(options: {
  readonly port: number;
  readonly hosts: readonly string[];
  readonly concurrency?: number;
  readonly accept?: (status: number) => boolean;
}): Load {
  const { port, hosts, concurrency = 4, accept = (status) => status === 200 } = options;
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency });
  const failures: string[] = [];
  let sent = 0;
  let stopped = false;

  function ask(host: string): Promise<void> {
    return new Promise((resolve) => {
      const failed = (why: string): void => {
        failures.push(`${host}: ${why}`);
        resolve();
      };
      request({ host: '127.0.0.1', port, agent, headers: { host }, timeout: 10_000 }, (response) => {
        response.resume();
        response.on('end', () => {
          const status = response.statusCode ?? 0;
          if (accept(status)) resolve();
          else failed(`status ${status}`);
        });
        response.on('error', (error) => failed(error.message));
      })
        .on('error', (error) => failed(error.message))
        .on('timeout', () => failed('no answer'))
        .end();
    });
  }

  async function run(offset: number): Promise<void> {
    for (let n = offset; !stopped; n += 1) {
      sent += 1;
      await ask(hosts[n % hosts.length] as string);
    }
  }

  const running = Promise.all(Array.from({ length: concurrency }, (_, n) => run(n)));
  return {
    get sent() {
      return sent;
    },
    failures,
    async stop() {
      stopped = true;
      await running;
      agent.destroy();
      return { sent, failures };
    },
  };
}
