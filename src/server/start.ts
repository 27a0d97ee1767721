import { randomUUID } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createApi, mintToken, type Ports, type Status, type Tokens, type View } from '../api/index.ts';
import { FairwayError } from '../lib/errors.ts';
import type { RoleBindingObject } from '../model/index.ts';
import { everythingTo } from './first-admin.ts';
import { untilAvailable } from './open-store.ts';
import { type OpenedStore, openServerStore } from './opened-store.ts';
import { accessOf, openRestDoor, openRestTls } from './rest-door.ts';
import type { ServerOptions } from './run.ts';
import { type Server, serve } from './server.ts';

/**
 * Starts a server on its store. One whose store is not whole, since a restore was broken off or is under way, opens its
 * REST door alone, for the restore that mends it, and starts in full when that is done.
 */
export async function startServer(options: ServerOptions): Promise<Server> {
  const newId = (): string => randomUUID();
  const { config, log, signal = new AbortController().signal } = options;
  const open = () => openServerStore({ ...options, now: Date.now, newId });
  const opened = await untilAvailable(open, { config, log, signal });
  if (opened.store.wholeSince !== undefined) return serve(options, opened);
  return awaitRestore(options, opened).catch(async (error: unknown) => {
    await opened.store.close();
    throw error;
  });
}

async function awaitRestore(options: ServerOptions, opened: OpenedStore): Promise<Server> {
  const { config, log } = options;
  const { store, backups } = opened;
  const restorer = await makeRestorer(options);
  const tls = await openRestTls(config, log);
  log.warn({ event: 'restore_awaited', tokenFile: restorer.tokenFile });
  const app = createApi({
    store,
    ports: { ...nothing, view: viewWith(restorer.bindings), tokens: restorer.tokens, backups },
    access: accessOf(config),
    ...(tls === undefined ? {} : { tls }),
    clock: Date.now,
    newId: () => randomUUID(),
    log: log.child({ room: 'api' }),
  });
  const door = await openRestDoor(app, {
    listen: config.listen,
    tokenFile: restorer.tokenFile,
    env: options.env,
  });
  const { address } = door;
  const closing = new AbortController();
  let server: Server | undefined;

  async function goOn(): Promise<void> {
    await store.untilWhole(closing.signal);
    await door.close();
    tls?.close();
    await rm(restorer.tokenFile, { force: true });
    if (closing.signal.aborted) await store.close();
    else server = await serve({ ...options, config: { ...config, listen: address } }, opened);
  }

  const going = goOn().catch((error: unknown) => {
    options.onFailure?.(error instanceof Error ? error : new Error(String(error)));
  });
  return {
    address,
    xdsAddress: config.xdsListen,
    async close() {
      closing.abort();
      await going;
      await server?.close();
    },
  };
}

interface Restorer {
  readonly tokenFile: string;
  readonly tokens: Tokens;
  readonly bindings: readonly RoleBindingObject[];
}

/**
 * Who may restore while nobody's rights are known, since they are in the store: whoever can read a file beside the data,
 * as with the first admin token. The token is good for nothing else, and gone when the store is whole.
 */
async function makeRestorer({ config }: ServerOptions): Promise<Restorer> {
  const createdAt = new Date().toISOString();
  const { text, record } = await mintToken({ name: restorerName, createdAt, createdBy: 'the start of the server' });
  const folder = resolve(config.data);
  const tokenFile = join(folder, 'restore-token');
  await mkdir(folder, { recursive: true });
  await rm(tokenFile, { force: true });
  await writeFile(tokenFile, `${text}\n`, { mode: 0o600, flag: 'wx' });
  return {
    tokenFile,
    tokens: { get: (id) => (id === record.id ? record : undefined), list: () => [record] },
    bindings: [everythingTo(restorerName, { name: restorerName, uid: randomUUID(), createdAt })],
  };
}

const restorerName = 'restore';

const viewWith = (bindings: readonly RoleBindingObject[]): View => ({
  revision: 0,
  get: () => undefined,
  list: (kind) => (kind === 'RoleBinding' ? bindings : []),
  referrers: () => [],
  status: (): Status => ({ observedGeneration: 0, conditions: [] }),
  pinnedGeneration: () => undefined,
  reached: async () => {
    throw new FairwayError('NotReady', 'waiting for a revision: the store is not whole');
  },
  changesSince: () => undefined,
  onChanges: () => () => undefined,
});

/** What there is to see of a store that is not whole. */
const nothing: Omit<Ports, 'backups' | 'view' | 'tokens'> = {
  controllers: () => [],
  viewAgeMs: () => 0,
  preview: {
    preview: async () => {
      throw new FairwayError('NotReady', 'trying a write: the store is not whole');
    },
  },
  proxies: {
    list: async () => ({ found: [], missing: [] }),
    get: async () => ({ found: undefined, missing: [] }),
    config: async () => ({ found: undefined, missing: [] }),
    compare: async () => ({ found: 0, missing: [] }),
  },
  explain: { virtualService: () => undefined, commit: async () => ({ found: undefined, missing: [] }) },
  events: { list: () => [], onHappened: () => () => undefined },
  audit: () => ({ auditWrite: [], auditRefusal: [] }),
  unready: () => [notWhole],
  metrics: async () => '',
  metricsContentType: 'text/plain; version=0.0.4; charset=utf-8',
};

const notWhole = 'the store is not whole: a restore is under way, or was broken off and must be made again';
