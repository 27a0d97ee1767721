import { err, ok, type Result } from '../lib/result.ts';
import { type FieldInfo, oneOf, parseName, parsePath } from './field.ts';

/** Where a server keeps what operators want, and how it is sealed there. */
export interface StoreConfig {
  /** Folder of the embedded database. */
  readonly data: string;
  readonly store: 'sqlite' | 'memory' | 'etcd';
  /** Client URLs, comma-separated; all `https` or all `http`. */
  readonly etcdEndpoints: string;
  /** Controllers with the same prefix are one cluster. */
  readonly etcdPrefix: string;
  /** Paths of PEM files; empty: the system's roots, and no certificate of our own. */
  readonly etcdCa: string;
  readonly etcdCert: string;
  readonly etcdKey: string;
  /** Empty: no password authentication. */
  readonly etcdUser: string;
  readonly etcdPasswordFile: string;
  /** File of the data keys that seal secrets in the store; a relative path counts from `data`. */
  readonly dataKeyFile: string;
}

export const storeDefaults: StoreConfig = {
  data: './.fairway',
  store: 'sqlite',
  etcdEndpoints: 'http://127.0.0.1:2379',
  etcdPrefix: '/fairway',
  etcdCa: '',
  etcdCert: '',
  etcdKey: '',
  etcdUser: '',
  etcdPasswordFile: '',
  dataKeyFile: 'data.key',
};

export const storeFields: { readonly [F in keyof StoreConfig]: FieldInfo<StoreConfig[F]> } = {
  data: { flag: '--data', env: 'FAIRWAY_DATA', help: 'folder of the embedded database', parse: parsePath },
  store: {
    flag: '--store',
    env: 'FAIRWAY_STORE',
    help: 'sqlite, etcd (for several controllers), or memory (nothing outlives the process)',
    parse: oneOf(['sqlite', 'memory', 'etcd']),
  },
  etcdEndpoints: {
    flag: '--etcd-endpoints',
    env: 'FAIRWAY_ETCD_ENDPOINTS',
    help: 'URLs of the members of etcd, comma-separated',
    parse: parseUrls,
  },
  etcdPrefix: {
    flag: '--etcd-prefix',
    env: 'FAIRWAY_ETCD_PREFIX',
    help: 'keys in etcd are below it; controllers with the same one are one cluster',
    parse: parsePrefix,
  },
  etcdCa: {
    flag: '--etcd-ca',
    env: 'FAIRWAY_ETCD_CA',
    help: 'PEM file: whom to trust as etcd; else the roots of the system',
    parse: parsePath,
  },
  etcdCert: {
    flag: '--etcd-cert',
    env: 'FAIRWAY_ETCD_CERT',
    help: 'PEM file: client certificate for etcd',
    parse: parsePath,
  },
  etcdKey: { flag: '--etcd-key', env: 'FAIRWAY_ETCD_KEY', help: 'PEM file: key of that certificate', parse: parsePath },
  etcdUser: { flag: '--etcd-user', env: 'FAIRWAY_ETCD_USER', help: 'user of etcd', parse: parseName },
  etcdPasswordFile: {
    flag: '--etcd-password-file',
    env: 'FAIRWAY_ETCD_PASSWORD_FILE',
    help: 'file with the password of that user',
    parse: parsePath,
  },
  dataKeyFile: {
    flag: '--data-key-file',
    env: 'FAIRWAY_DATA_KEY_FILE',
    help: 'file of the keys that seal secrets in the store; a relative path counts from the data folder',
    parse: parsePath,
  },
};

/** One text of URLs with commas between, from such a text or from a list. */
function parseUrls(value: unknown): Result<string, string> {
  const list = Array.isArray(value) ? value : typeof value === 'string' ? value.split(',') : [];
  const urls: string[] = [];
  for (const each of list) {
    const url = typeof each === 'string' ? URL.parse(each.trim()) : null;
    const plain = url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.pathname === '/';
    if (!plain) return err(`must be URLs like https://etcd-1:2379, not ${String(each)}`);
    urls.push(`${url.protocol}//${url.host}`);
  }
  if (urls.length === 0) return err('must be URLs like https://etcd-1:2379');
  if (new Set(urls.map((url) => url.slice(0, 5))).size > 1) return err('must be all https or all http');
  return ok(urls.join(','));
}

function parsePrefix(value: unknown): Result<string, string> {
  return typeof value === 'string' && /^(\/[A-Za-z0-9._-]+)+$/.test(value)
    ? ok(value)
    : err('must be a path like /fairway, without a slash at its end');
}
