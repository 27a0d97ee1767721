import { type ServerConfig, serverDefaults } from '../../src/config/index.ts';
import { startServer } from '../../src/server/index.ts';
import type { Store } from '../../src/store/index.ts';
import { createLogger } from '../../src/telemetry/log.ts';
import type { RawPatch } from '../../src/translate/index.ts';
import { until } from './until.ts';

/** A control plane in this process, with a client for its REST API. */
export interface TestFairway {
  readonly url: string;
  readonly xdsPort: number;
  /** All that was logged. */
  logged(): string;
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** Creates or replaces objects one by one, given as manifests. Fails unless all are accepted. */
  put(...objects: readonly Manifest[]): Promise<Answer[]>;
  get(kind: string, name: string, scope?: string): Promise<StoredObject>;
  /** Waits until a condition has a status, and gives the object. */
  waitFor(kind: string, name: string, condition: string, status: string, scope?: string): Promise<StoredObject>;
  close(): Promise<void>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers as they come
  readonly body: any;
}

export interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly scope?: string; readonly labels?: Record<string, string> };
  readonly spec: unknown;
}

export interface StoredObject extends Manifest {
  readonly metadata: Manifest['metadata'] & {
    readonly generation: number;
    readonly revision: string;
    readonly uid: string;
  };
  readonly status: {
    readonly conditions: readonly {
      type: string;
      status: string;
      reason: string;
      message: string;
      lastTransitionTime: string;
    }[];
    readonly [field: string]: unknown;
  };
}

const plurals: Readonly<Record<string, string>> = {
  Scope: 'scopes',
  RoleBinding: 'role-bindings',
  Fleet: 'fleets',
  Node: 'nodes',
  VirtualService: 'virtual-services',
  Route: 'routes',
  BackendPool: 'backend-pools',
  Certificate: 'certificates',
};
const globals = new Set(['Scope', 'RoleBinding', 'Fleet', 'Node']);

export async function startFairway(
  options: {
    store?: Store;
    data?: string;
    dataKeys?: string;
    rawPatch?: RawPatch;
    xdsPort?: number;
    config?: Partial<ServerConfig>;
    rotationFollowMs?: number;
  } = {},
): Promise<TestFairway> {
  const lines: string[] = [];
  const log = createLogger({ level: 'debug', destination: { write: (line: string) => void lines.push(line) } });
  const server = await startServer({
    config: {
      ...serverDefaults,
      // Those who test something else need not say who they are.
      authentication: 'none',
      listen: '127.0.0.1:0',
      xdsListen: `127.0.0.1:${options.xdsPort ?? 0}`,
      store: options.data === undefined ? 'memory' : 'sqlite',
      data: options.data ?? '',
      ...options.config,
    },
    log,
    ...(options.store === undefined ? {} : { store: options.store }),
    dataKeys: options.dataKeys,
    ...(options.rawPatch === undefined ? {} : { rawPatch: options.rawPatch }),
    ...(options.rotationFollowMs === undefined ? {} : { rotationFollowMs: options.rotationFollowMs }),
  });
  const url = `http://${server.address}`;

  async function call(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const text = typeof body === 'string' || body === undefined ? body : JSON.stringify(body);
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { ...(text === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(text === undefined ? {} : { body: text }),
    });
    const answer = await response.text();
    const json = response.headers.get('content-type')?.includes('json') === true && answer !== '';
    return { status: response.status, headers: response.headers, body: json ? JSON.parse(answer) : answer };
  }

  async function get(kind: string, name: string, scope?: string): Promise<StoredObject> {
    const answer = await call('GET', pathOf(kind, name, scope));
    if (answer.status !== 200) throw new Error(`GET ${kind} ${name}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  return {
    url,
    xdsPort: Number(server.xdsAddress.split(':').at(-1)),
    logged: () => lines.join(''),
    call,
    get,
    async put(...objects) {
      const answers: Answer[] = [];
      for (const object of objects) {
        const path = pathOf(object.kind, object.metadata.name, object.metadata.scope);
        const answer = await call('PUT', path, { apiVersion: 'fairway/v1', ...object });
        if (answer.status >= 300) throw new Error(`PUT ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
        answers.push(answer);
      }
      return answers;
    },
    waitFor: (kind, name, condition, status, scope) => {
      let last: StoredObject | undefined;
      const look = async (): Promise<StoredObject | undefined> => {
        last = await get(kind, name, scope);
        return last.status.conditions.find(({ type }) => type === condition)?.status === status ? last : undefined;
      };
      return until(`${kind} ${name} to be ${condition}=${status}`, look, { describe: () => last?.status });
    },
    close: () => server.close(),
  };
}

/** Path of an object in the REST API. */
export function pathOf(kind: string, name: string, scope = 'default'): string {
  const plural = plurals[kind];
  return globals.has(kind) ? `/v1/${plural}/${name}` : `/v1/scopes/${scope}/${plural}/${name}`;
}
