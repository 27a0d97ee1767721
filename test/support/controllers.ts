import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import { newDataKey } from '../../src/lib/sealer.ts';
import { type EtcdCluster, type Missing, startEtcdCluster } from './etcd.ts';
import { type ServerProcess, startServerProcess } from './server-process.ts';
import { until } from './until.ts';

/** As `GET /v1/controllers` tells it. */
export interface ToldController {
  readonly id: string;
  readonly state: string;
  readonly leader: boolean;
  readonly term?: number;
  readonly leaderSince?: string;
  readonly revision: string;
  readonly lag: number;
  readonly proxies: number;
  readonly memoryBytes: number;
  readonly cpu: number;
  readonly address: string;
  readonly xdsAddress: string;
  readonly version: string;
  readonly roles: readonly string[];
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers as they come
  readonly body: any;
}

/** A real etcd, and controllers on it that are processes of their own. */
export interface TestCluster {
  readonly etcd: EtcdCluster;
  /** Starts one named so; `endpoints` default to all members. */
  start(name: string, options?: StartOptions): Promise<Controller>;
  close(): Promise<void>;
}

export interface StartOptions {
  readonly endpoints?: string;
  /** File of its data keys; absent: all have the same one, from the environment. */
  readonly dataKeyFile?: string;
  readonly flags?: readonly string[];
  /** Gets each line of its log. */
  readonly onLine?: (line: string) => void;
}

export interface Controller extends ServerProcess {
  readonly name: string;
  call(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  controllers(): Promise<readonly ToldController[]>;
  /** Waits until the controllers say that somebody leads, and gives who. */
  leader(): Promise<ToldController>;
}

/** Of a local network: the loss of etcd's leader is over before a call has to give up. */
export const fastElection = ['--heartbeat-interval', '50', '--election-timeout', '500'];

export async function startTestCluster(members = 1): Promise<TestCluster | Missing> {
  const folder = await mkdtemp(join(tmpdir(), 'fairway-cluster-'));
  const etcd = await startEtcdCluster(folder, members, fastElection);
  if ('missing' in etcd) {
    await rm(folder, { recursive: true });
    return etcd;
  }
  const running = new Set<ServerProcess>();
  // Controllers that share a store need the same one.
  const dataKey = newDataKey();
  return {
    etcd,
    async start(name, { endpoints = etcd.urls.join(','), flags = [], dataKeyFile, onLine } = {}) {
      const server = await startServerProcess({
        ...(onLine === undefined ? {} : { onLine }),
        data: join(folder, name),
        env: dataKeyFile === undefined ? { FAIRWAY_DATA_KEYS: dataKey } : {},
        flags: ['--name', name, '--store', 'etcd', '--etcd-endpoints', endpoints, ...flags].concat(
          dataKeyFile === undefined ? [] : ['--data-key-file', dataKeyFile],
        ),
      });
      running.add(server);
      return controllerOf(name, server);
    },
    async close() {
      for (const server of running) server.resume();
      await Promise.all([...running].map((server) => server.stop(2_000)));
      await etcd.stop();
      await rm(folder, { recursive: true });
    },
  };
}

/**
 * For a file of tests: a cluster for all of them, and what `prepare` does to it once. Where there is no etcd they are
 * skipped, and it is said why.
 */
export function useTestCluster(prepare: (cluster: TestCluster) => Promise<void> = async () => undefined): {
  readonly cluster: TestCluster;
} {
  let started: TestCluster | Missing | undefined;
  beforeAll(async () => {
    started = await startTestCluster();
    if (!('missing' in started)) await prepare(started);
  });
  afterAll(async () => {
    if (started !== undefined && 'close' in started) await started.close();
  });
  beforeEach((context) => {
    if (started !== undefined && 'missing' in started) context.skip(started.missing);
  });
  return {
    get cluster() {
      if (started === undefined || 'missing' in started) throw new Error('there is no cluster');
      return started;
    },
  };
}

const kinds: Readonly<Record<string, string>> = {
  fleets: 'Fleet',
  'backend-pools': 'BackendPool',
  'virtual-services': 'VirtualService',
};

/** Creates or replaces the object of a path such as `scopes/default/backend-pools/web`. */
export function write(controller: Controller, path: string, spec: unknown): Promise<Answer> {
  const [name, plural = '', scope] = path.split('/').reverse();
  const metadata = { name, ...(scope === undefined ? {} : { scope }) };
  return controller.call('PUT', `/v1/${path}`, { apiVersion: 'fairway/v1', kind: kinds[plural], metadata, spec });
}

/** The same; fails unless it is accepted. */
export async function put(controller: Controller, path: string, spec: unknown) {
  const { status, body } = await write(controller, path, spec);
  expect(status, JSON.stringify(body)).toBeLessThan(300);
  return body as { readonly metadata: { readonly revision: string; readonly generation: number } };
}

function controllerOf(name: string, server: ServerProcess): Controller {
  const call: Controller['call'] = async (method, path, body, headers = {}) => {
    const response = await fetch(`http://${server.address}${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(10_000),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
  };
  const controllers = async () => (await call('GET', '/v1/controllers')).body.items as readonly ToldController[];
  return {
    ...server,
    name,
    call,
    controllers,
    leader: () => until('a leader', async () => (await controllers()).find(({ leader }) => leader)),
  };
}
