import type { EtcdMember } from '../etcd.ts';
import { startTcpProxy } from '../tcp-proxy.ts';

/** The way of one controller to etcd, and to nobody else: a TCP proxy before each member. */
export interface Link {
  /** Of etcd's members, as this controller sees them. */
  readonly urls: readonly string[];
  /** Connections end, and new ones do: as with a process that is gone. */
  cut(): void;
  /** Nothing arrives any more in either direction, and nobody is told: as with a cable. */
  silence(): void;
  /** Each call takes so much longer. */
  slow(callMs: number): void;
  /** As before; what was held back arrives now. */
  mend(): void;
  close(): Promise<void>;
}

export async function createLink(members: readonly EtcdMember[]): Promise<Link> {
  const proxies = await Promise.all(members.map(async ({ port }) => ({ port, proxy: await startTcpProxy(port) })));
  /** Where nobody listens. */
  const nowhere = 1;
  return {
    urls: proxies.map(({ proxy }) => `http://127.0.0.1:${proxy.port}`),
    cut() {
      for (const { proxy } of proxies) {
        proxy.target(nowhere);
        proxy.cut();
      }
    },
    silence() {
      for (const { proxy } of proxies) {
        proxy.holdRequests(true);
        proxy.holdAnswers(true);
      }
    },
    slow(callMs) {
      for (const { proxy } of proxies) proxy.delay(callMs / 2);
    },
    mend() {
      for (const { port, proxy } of proxies) {
        proxy.target(port);
        proxy.delay(0);
        proxy.holdRequests(false);
        proxy.holdAnswers(false);
      }
    },
    close: async () => void (await Promise.all(proxies.map(({ proxy }) => proxy.close()))),
  };
}
