import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { Etcd3, type IOptions } from 'etcd3';
import { startOrphanGuard } from '../../src/lib/orphan-guard.ts';
import { debianProgram } from './debian.ts';
import { freePort } from './ports.ts';
import { patienceMs, until, within } from './until.ts';

/** A real etcd with its defaults (so with an fsync for each write), alone in its cluster, and a client of it. */
export interface RunningEtcd {
  readonly client: Etcd3;
  /** Of its clients, on loopback. */
  readonly url: string;
  readonly version: string;
  stop(): Promise<void>;
}

/** One process of a cluster, which can be taken away and brought back. */
export interface EtcdMember {
  readonly url: string;
  readonly port: number;
  /** Stands still, its connections open: what a frozen machine looks like. */
  pause(): void;
  resume(): void;
  /** Ends at once, with what it has on disk. */
  kill(): Promise<void>;
  /** Starts it again; resolves at once. */
  restart(): void;
}

/** Several members on loopback. */
export interface EtcdCluster {
  readonly members: readonly EtcdMember[];
  readonly urls: readonly string[];
  readonly client: Etcd3;
  readonly version: string;
  stop(): Promise<void>;
}

/** What is missing where there is no etcd and none can be installed. */
export interface Missing {
  readonly missing: string;
}

/** Starts one on free ports of loopback; with credentials it is asked over TLS. */
export async function startEtcd(
  data: string,
  flags: readonly string[] = [],
  credentials?: IOptions['credentials'],
): Promise<RunningEtcd | Missing> {
  const cluster = await startEtcdCluster(data, 1, flags, credentials);
  if ('missing' in cluster) return cluster;
  const { client, version, stop } = cluster;
  return { client, url: cluster.urls[0] as string, version, stop };
}

/** Starts `count` members with their data below `folder`; resolves when they have a leader, in `limitMs` at most. */
export async function startEtcdCluster(
  folder: string,
  count: number,
  flags: readonly string[] = [],
  credentials?: IOptions['credentials'],
  limitMs = patienceMs,
): Promise<EtcdCluster | Missing> {
  const program = await debianProgram('etcd', 'etcd-server');
  if ('missing' in program) return program;
  const ports: { readonly client: number; readonly peer: number }[] = [];
  while (ports.length < count) ports.push({ client: await freePort(), peer: await freePort() });
  const cluster = ports.map(({ peer }, i) => `m${i}=http://127.0.0.1:${peer}`).join(',');
  const members = ports.map(({ client, peer }, i) => {
    const listenUrl = `${credentials === undefined ? 'http' : 'https'}://127.0.0.1:${client}`;
    const peerUrl = `http://127.0.0.1:${peer}`;
    const args = ['--data-dir', join(folder, `m${i}`), '--name', `m${i}`, '--initial-cluster', cluster].concat([
      ...['--listen-client-urls', listenUrl, '--advertise-client-urls', listenUrl],
      ...['--listen-peer-urls', peerUrl, '--initial-advertise-peer-urls', peerUrl],
      ...flags,
    ]);
    return new Member(program.path, args, client, listenUrl);
  });
  const urls = members.map(({ url }) => url);
  // The client gives an IP address as server name, which Node refuses.
  const names = urls.map((url) => url.replace('https://127.0.0.1', 'https://localhost'));
  const client = new Etcd3({ hosts: names, ...(credentials === undefined ? {} : { credentials }) });
  const stop = async (): Promise<void> => {
    client.close();
    await Promise.all(members.map((member) => member.kill()));
  };
  try {
    const over = (): boolean => members.some((member) => member.ended);
    const version = await until('etcd to start', async () => over() || (await startedVersion(client)), {
      limitMs,
      describe: () => members.map(({ log }) => log).join('\n'),
    });
    // Two of three take writes without the third, whose port somebody else may have taken meanwhile.
    const isThere = async ({ url }: Member): Promise<boolean> =>
      credentials !== undefined || (await fetch(`${url}/health`, { signal: AbortSignal.timeout(500) })).ok;
    const areThere = async () => over() || (await Promise.all(members.map(isThere))).every(Boolean);
    await until('all members of etcd to take part', areThere, { limitMs });
    if (version === true || over()) throw new Error(`etcd ended: ${members.map(({ log }) => log).join('\n')}`);
    return { members, urls, client, version, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Its version once it takes writes. */
async function startedVersion(client: Etcd3): Promise<string> {
  // What is asked for before there is a leader may be lost.
  await client.kv.range({ key: Buffer.from('any') }, { deadline: new Date(Date.now() + 2_000) });
  return (await client.maintenance.status()).version;
}

class Member implements EtcdMember {
  readonly url: string;
  readonly port: number;
  log = '';
  ended = false;
  readonly #path: string;
  readonly #args: readonly string[];
  #child: ChildProcess;
  #closed: Promise<void>;
  #guard: ChildProcess | undefined;

  constructor(path: string, args: readonly string[], port: number, url: string) {
    this.#path = path;
    this.#args = args;
    this.port = port;
    this.url = url;
    [this.#child, this.#closed] = this.#start();
  }

  pause(): void {
    this.#child.kill('SIGSTOP');
  }

  resume(): void {
    this.#child.kill('SIGCONT');
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await within(`etcd at ${this.url} to end`, this.#closed);
    this.#guard?.kill('SIGKILL');
  }

  restart(): void {
    this.ended = false;
    [this.#child, this.#closed] = this.#start();
  }

  #start(): [ChildProcess, Promise<void>] {
    const child = spawn(this.#path, this.#args, { stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        // The end says why it ended; a whole run would say much.
        this.log = (this.log + text).slice(-20_000);
      });
    }
    const closed = new Promise<void>((resolve) => {
      const end = (): void => {
        this.ended = true;
        resolve();
      };
      child.once('error', (error) => {
        this.log += error.message;
        end();
      });
      child.once('close', end);
    });
    this.#guard = child.pid === undefined ? undefined : startOrphanGuard(child.pid);
    return [child, closed];
  }
}
