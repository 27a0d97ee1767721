import { readFileSync } from 'node:fs';
import pino from 'pino';
import { expect } from 'vitest';
import {
  type AccessOptions,
  createApi,
  createRefusalLog,
  type Gathered,
  type Limits,
  type MissingController,
  type PreviewResult,
  type PreviewWrite,
  type ProxyInfo,
} from '../../src/api/index.ts';
import type { EventRecord } from '../../src/status/index.ts';
import { createMemoryStore, type Store } from '../../src/store/index.ts';
import { createFakeView, type FakeView, type FakeViewOptions } from './fake-view.ts';

/** The API over a memory store and a fake View, asked without a socket. */
export interface TestApi {
  readonly app: ReturnType<typeof createApi>;
  readonly store: Store;
  readonly view: FakeView;
  /** What the next previews find; each write is recorded. */
  readonly preview: { result: PreviewResult; readonly writes: (readonly PreviewWrite[])[] };
  readonly proxies: ProxyInfo[];
  /** Controllers that do not answer. */
  readonly missing: MissingController[];
  readonly unready: string[];
  /** How old the View says that it may be. */
  readonly viewAge: { ms: number };
  happen(event: EventRecord): void;
  call(method: Method, url: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** Creates or replaces an object; fails unless it is accepted. */
  put(object: Manifest): Promise<Answer>;
  /** Everything that was answered and logged so far, in all forms. */
  everything(): string;
  close(): Promise<void>;
}

export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS' | 'TRACE' | 'QUERY';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers as they come
  readonly body: any;
}

export interface Manifest {
  readonly apiVersion?: 'fairway/v1';
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly scope?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: unknown;
}

export const noChanges: PreviewResult = {
  conditions: [],
  resources: { added: [], changed: [], removed: [] },
  proxies: [],
  drains: { listeners: [], filterChains: [] },
  removals: [],
  exact: true,
};

/** 2030: within the validity of the certificates in test/support/certificates. */
export const testTime = Date.UTC(2030, 0, 1);

export interface TestApiOptions {
  readonly limits?: Partial<Limits>;
  /** Absent: nobody is asked who they are. */
  readonly access?: AccessOptions;
  /** Adds routes of a test's own. */
  readonly extend?: (app: TestApi['app']) => void;
  /** Default: stands still at {@link testTime}. */
  readonly clock?: () => number;
  /** Keeps refusals for the audit, those that are alike counted for so long. */
  readonly refusalWindowMs?: number;
  readonly view?: FakeViewOptions;
  /** Wraps the store, for instance to let others come first. */
  readonly store?: (store: Store) => Store;
}

export async function createTestApi(options: TestApiOptions = {}): Promise<TestApi> {
  const memory = createMemoryStore();
  const store = options.store?.(memory) ?? memory;
  const view = createFakeView(memory, options.view);
  const preview = { result: noChanges, writes: [] as (readonly PreviewWrite[])[] };
  const proxies: ProxyInfo[] = [];
  const missing: MissingController[] = [];
  const gathered = <T>(found: T): Gathered<T> => ({ found, missing });
  const unready: string[] = [];
  const viewAge = { ms: 0 };
  const events: EventRecord[] = [];
  const listeners = new Set<(happened: readonly EventRecord[]) => void>();
  const onHappened = (listener: (happened: readonly EventRecord[]) => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  const output: string[] = [];
  let ids = 0;
  const newId = () => `id-${++ids}`;
  const log = pino({ level: 'trace' }, { write: (line: string) => output.push(line) });
  const { clock = () => testTime, refusalWindowMs: windowMs } = options;
  const refusals = windowMs === undefined ? undefined : createRefusalLog({ store, newId, clock, log, windowMs });
  const app = createApi({
    access: options.access ?? { authentication: 'none' },
    store,
    ...(refusals !== undefined && { refusals }),
    ports: {
      controllers: () => [],
      viewAgeMs: () => viewAge.ms,
      view,
      tokens: view.tokens,
      preview: {
        preview: async (writes) => {
          preview.writes.push(writes);
          return preview.result;
        },
      },
      proxies: {
        list: async ({ fleet }) => gathered(proxies.filter((proxy) => fleet === undefined || proxy.fleet === fleet)),
        get: async (node) => gathered(proxies.find((proxy) => proxy.node === node)),
        config: async (node) => gathered(proxies.some((proxy) => proxy.node === node) ? [] : undefined),
        compare: async (name) => gathered(proxies.filter(({ node }) => name === undefined || node === name).length),
      },
      explain: {
        virtualService: (key) => (view.get(key) === undefined ? undefined : { service: key }),
        commit: async () => gathered(undefined),
      },
      backups: {
        backup: async () => (async function* () {})(),
        restore: async () => ({ entries: 0, revision: '0', backup: { revision: '0', createdAt: '' } }),
      },
      events: { list: () => events, onHappened },
      audit: () => view.audit,
      unready: () => unready,
      metrics: async () => '# HELP fairway_up 1 while it runs\nfairway_up 1\n',
      metricsContentType: 'text/plain; version=0.0.4; charset=utf-8',
    },
    clock,
    newId,
    log,
    ...(options.limits !== undefined && { limits: options.limits }),
  });
  options.extend?.(app);
  for (const name of ['default', 'system']) {
    await app.inject({
      method: 'PUT',
      url: `/v1/scopes/${name}`,
      payload: '{}',
      headers: { 'content-type': 'application/json' },
    });
  }

  async function call(method: Method, url: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) {
    const isRaw = typeof body === 'string' || body instanceof Buffer;
    const answer = await app.inject({
      method,
      url,
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { payload: isRaw ? body : JSON.stringify(body) }),
    });
    output.push(JSON.stringify(answer.headers), answer.body);
    const isJson = String(answer.headers['content-type'] ?? '').includes('json') && answer.body !== '';
    return {
      status: answer.statusCode,
      headers: answer.headers,
      text: answer.body,
      body: isJson && !answer.body.includes('\n') ? JSON.parse(answer.body) : undefined,
    };
  }

  return {
    app,
    store,
    view,
    preview,
    proxies,
    missing,
    unready,
    viewAge,
    happen(event) {
      events.push(event);
      for (const listener of listeners) listener([event]);
    },
    call,
    async put(object) {
      const answer = await call('PUT', urlOf(object), object);
      expect(answer.status, answer.text).toBeLessThan(300);
      return answer;
    },
    everything: () => output.join('\n'),
    async close() {
      await app.close();
      await refusals?.close();
      await view.close();
      await memory.close();
    },
  };
}

const plurals: Readonly<Record<string, string>> = {
  Scope: 'scopes',
  RoleBinding: 'role-bindings',
  Fleet: 'fleets',
  Node: 'nodes',
  Certificate: 'certificates',
  BackendPool: 'backend-pools',
  VirtualService: 'virtual-services',
  Route: 'routes',
};

export function urlOf({ kind, metadata }: Pick<Manifest, 'kind' | 'metadata'>): string {
  const isGlobal = ['Scope', 'RoleBinding', 'Fleet', 'Node'].includes(kind);
  const place = isGlobal ? '' : `/scopes/${metadata.scope ?? 'default'}`;
  return `/v1${place}/${plurals[kind]}/${metadata.name}`;
}

const apiVersion = 'fairway/v1';

export function pool(name: string, spec: object = {}, metadata: Partial<Manifest['metadata']> = {}): Manifest {
  const members = [{ address: '10.0.0.1', port: 8080 }];
  return { apiVersion, kind: 'BackendPool', metadata: { name, ...metadata }, spec: { members, ...spec } };
}

export function service(name: string, poolName: string, metadata: Partial<Manifest['metadata']> = {}): Manifest {
  const listener = { name: 'web', port: 80, protocol: 'HTTP', defaultAction: { forward: [{ pool: poolName }] } };
  return { apiVersion, kind: 'VirtualService', metadata: { name, ...metadata }, spec: { listeners: [listener] } };
}

/** A certificate or key of test/support/certificates: `p256`, `p256.key`. */
export function pem(name: string): string {
  return readFileSync(new URL(`certificates/${name}.pem`, import.meta.url), 'utf8');
}

export function certificate(name: string, algorithm: 'p256' | 'p384' | 'p521' | 'rsa2048' = 'p256'): Manifest {
  return {
    apiVersion,
    kind: 'Certificate',
    metadata: { name },
    spec: { chain: pem(algorithm), key: pem(`${algorithm}.key`) },
  };
}

/**
 * Pieces of keys as they could show up anywhere: every 20 characters of a line of their base64, except for those that
 * the certificate has too, since it holds the public half.
 */
export function keyFragments(...names: readonly string[]): readonly string[] {
  const fragments = new Set<string>();
  for (const name of names) {
    const lines = pem(`${name}.key`).split('\n');
    const isPublic = pem(name).replaceAll('\n', '');
    for (const line of lines.filter((text) => !text.startsWith('-----'))) {
      for (let at = 0; at + 20 <= line.length; at++) {
        const fragment = line.slice(at, at + 20);
        if (!isPublic.includes(fragment)) fragments.add(fragment);
      }
    }
  }
  return [...fragments];
}
