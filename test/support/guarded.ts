import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ServerConfig, serverDefaults } from '../../src/config/index.ts';
import { readTokenFile } from '../../src/lib/local-server.ts';
import type { RoleBindingSpec } from '../../src/model/index.ts';
import { startServer } from '../../src/server/index.ts';
import { createMemoryStore, type Store } from '../../src/store/index.ts';
import { createLogger } from '../../src/telemetry/log.ts';

/** A server in this process that asks everybody who they are. */
export interface Guarded {
  readonly url: string;
  readonly port: number;
  readonly store: Store;
  /** Of the data folder, for another server of the same store. */
  readonly dataKeyFile: string;
  /** The first admin token, as the command line finds it. */
  readonly admin: string;
  /** Variables with which the command line finds it. */
  readonly env: Readonly<Record<string, string>>;
  /** Makes a token; gives its text and id. */
  mint(name: string, expiresIn?: string): Promise<{ readonly token: string; readonly id: string }>;
  /** Creates or replaces a binding, as the administrator. */
  bind(name: string, spec: RoleBindingSpec): Promise<void>;
  /** `token` undefined: says nothing about who asks. */
  call(token: string | undefined, method: string, path: string, body?: unknown): Promise<Answer>;
  /** All that was logged. */
  logged(): string;
  /** Everything that was answered and logged. */
  everything(): string;
  close(): Promise<void>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers as they come
  readonly body: any;
}

/** Controllers of one store seal with the same key. */
const dataKeys = randomBytes(32).toString('base64');

export async function startGuarded(
  config: Partial<ServerConfig> = {},
  options: { readonly store?: Store; readonly newAdminToken?: boolean } = {},
): Promise<Guarded> {
  const folder = mkdtempSync(join(tmpdir(), 'fairway-guarded-'));
  const env = { XDG_STATE_HOME: folder, XDG_CONFIG_HOME: '/nonexistent' };
  const lines: string[] = [];
  const answers: string[] = [];
  const log = createLogger({ level: 'debug', destination: { write: (line: string) => void lines.push(line) } });
  const store = options.store ?? createMemoryStore();
  const server = await startServer({
    config: {
      ...serverDefaults,
      listen: '127.0.0.1:0',
      xdsListen: '127.0.0.1:0',
      data: join(folder, 'data'),
      ...config,
    },
    log,
    store: {
      commit: (transaction) => store.commit(transaction),
      get: (key) => store.get(key),
      list: (prefix) => store.list(prefix),
      head: () => store.head(),
      watch: (after, signal) => store.watch(after, signal),
      // What was given belongs to whoever gave it.
      close: async () => (options.store === undefined ? store.close() : undefined),
    },
    env,
    dataKeys,
    newAdminToken: options.newAdminToken ?? false,
  });
  const port = Number(server.address.split(':').at(-1));
  const url = `${(config.tlsCert ?? '') === '' ? 'http' : 'https'}://${server.address}`;

  async function call(token: string | undefined, method: string, path: string, body?: unknown): Promise<Answer> {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    // What makes a token has to show it.
    if (path !== '/v1/tokens' || method !== 'POST') answers.push(JSON.stringify([...response.headers]), text);
    const isJson = response.headers.get('content-type')?.includes('json') === true && text !== '';
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  }

  // The second server of a store makes none.
  const admin = readTokenFile(join(folder, 'data', 'admin-token')) ?? '';

  async function must(method: string, path: string, body: unknown): Promise<Answer> {
    const answer = await call(admin, method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer;
  }

  return {
    url,
    port,
    store,
    dataKeyFile: join(folder, 'data', 'data.key'),
    admin,
    env,
    call,
    async mint(name, expiresIn) {
      const wanted = { name, ...(expiresIn === undefined ? {} : { expiresIn }) };
      return (await must('POST', '/v1/tokens', wanted)).body;
    },
    async bind(name, spec) {
      await must('PUT', `/v1/role-bindings/${name}`, { kind: 'RoleBinding', spec });
    },
    logged: () => lines.join(''),
    everything: () => [...lines, ...answers].join('\n'),
    async close() {
      await server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
