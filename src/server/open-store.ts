import { readFile } from 'node:fs/promises';
import type { ServerConfig } from '../config/index.ts';
import {
  createMemoryStore,
  type EtcdNotice,
  type EtcdStoreOptions,
  openEtcdStore,
  openSqliteStore,
  type Store,
} from '../store/index.ts';
import type { Logger } from '../telemetry/log.ts';

export interface OpenStoreOptions {
  readonly config: ServerConfig;
  readonly log: Logger;
  /** Called when the store has failed for good. */
  readonly onFailure?: (error: Error) => void;
}

/** Opens the configured store. */
export async function openStore({ config, log, onFailure }: OpenStoreOptions): Promise<Store> {
  switch (config.store) {
    case 'memory':
      return createMemoryStore();
    case 'sqlite':
      return openSqliteStore({ folder: config.data, ...(onFailure === undefined ? {} : { onFailure }) });
    case 'etcd':
      return openEtcdStore({
        ...(await etcdOptions(config)),
        onNotice: (notice) => report(notice, log),
      });
  }
}

function report({ event, error: err, id }: EtcdNotice, log: Logger): void {
  switch (event) {
    case 'compaction_failed':
      log.warn({ event: 'history_not_compacted', err });
      return;
    case 'history_lost':
      log.warn({ event: 'history_lost', err });
      return;
    case 'outcome_unknown':
      log.warn({ event: 'outcome_unknown', transaction: id });
      return;
    case 'outcome_settled':
      log.info({ event: 'outcome_settled', transaction: id });
  }
}

async function etcdOptions(config: ServerConfig): Promise<EtcdStoreOptions> {
  const read = async (path: string): Promise<Buffer | undefined> => (path === '' ? undefined : readFile(path));
  const [ca, cert, key, password] = await Promise.all(
    [config.etcdCa, config.etcdCert, config.etcdKey, config.etcdPasswordFile].map(read),
  );
  const auth = { username: config.etcdUser, password: password?.toString('utf8').trimEnd() ?? '' };
  return {
    endpoints: config.etcdEndpoints.split(','),
    prefix: config.etcdPrefix,
    ...(config.etcdEndpoints.startsWith('https:')
      ? { tls: { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) } }
      : {}),
    ...(config.etcdUser === '' ? {} : { auth }),
  };
}
