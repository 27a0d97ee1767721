import { parseDuration } from '../lib/duration.ts';
import type { FieldError } from '../lib/errors.ts';
import { canonicalIp, parseIp } from '../lib/ip.ts';
import { nearest } from '../lib/nearest.ts';
import { err, ok, type Result } from '../lib/result.ts';
import { type AccessConfig, accessDefaults, accessFields } from './access-config.ts';
import { type FieldInfo, oneOf, parseBoolean, wholeNumber } from './field.ts';

/** How a server process runs. Everything else is an object in the store. */
export interface ServerConfig extends AccessConfig {
  /** Of this controller, unlike the others of its cluster; empty: made from the host and the port. */
  readonly name: string;
  /** Which parts this process runs, comma-separated: `api`, `xds`, `control`. */
  readonly roles: string;
  /** REST API, `host:port`; port 0 takes a free one. */
  readonly listen: string;
  /** xDS, `host:port`. */
  readonly xdsListen: string;
  /** Host by which other controllers and nodes reach this one; empty: that of the addresses it listens at. */
  readonly advertise: string;
  /** Folder of the embedded database. */
  readonly data: string;
  /** File of the data keys that seal secrets in the store; a relative path counts from `data`. */
  readonly dataKeyFile: string;
  /**
   * How xDS knows who is at the other end. `own`: by certificates of an authority in the store, which nodes get when they
   * join; `files`: by certificates from elsewhere; `none`: not at all, in plain text.
   */
  readonly xdsTls: 'none' | 'own' | 'files';
  /** PEM files with `files`; empty: none. */
  readonly xdsCert: string;
  readonly xdsKey: string;
  readonly xdsCa: string;
  readonly xdsCrl: string;
  /** How long certificates of nodes are good that the own authority makes. */
  readonly certificateLife: string;
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
  /** Allows listening beyond loopback without TLS and authentication. */
  readonly insecure: boolean;
  /** OTLP/HTTP receiver of traces, a URL; empty: traces are off. */
  readonly traces: string;
  /** Records of writes that are kept for the audit, a quarter as many of refusals, and for how many days. */
  readonly auditEntries: number;
  readonly auditDays: number;
  readonly logLevel: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';
}

export const serverDefaults: ServerConfig = {
  name: '',
  roles: 'api,xds,control',
  listen: '127.0.0.1:7600',
  xdsListen: '127.0.0.1:7601',
  advertise: '',
  data: './.fairway',
  store: 'sqlite',
  dataKeyFile: 'data.key',
  xdsTls: 'none',
  xdsCert: '',
  xdsKey: '',
  xdsCa: '',
  xdsCrl: '',
  certificateLife: '24h',
  etcdEndpoints: 'http://127.0.0.1:2379',
  etcdPrefix: '/fairway',
  etcdCa: '',
  etcdCert: '',
  etcdKey: '',
  etcdUser: '',
  etcdPasswordFile: '',
  ...accessDefaults,
  insecure: false,
  traces: '',
  auditEntries: 20_000,
  auditDays: 90,
  logLevel: 'info',
};

type Field = keyof ServerConfig;

/** Each field with its flag and environment variable: the one table that parsing, help and README follow. */
export const serverFields: { readonly [F in Field]: FieldInfo<ServerConfig[F]> } = {
  name: {
    flag: '--name',
    env: 'FAIRWAY_NAME',
    help: 'name of this controller in its cluster; else the host and the port',
    parse: parseControllerName,
  },
  roles: {
    flag: '--roles',
    env: 'FAIRWAY_ROLES',
    help: 'parts that this process runs: api, xds, control; all of them unless others do',
    parse: parseRoles,
  },
  listen: { flag: '--listen', env: 'FAIRWAY_LISTEN', help: 'address of the REST API, host:port', parse: parseListen },
  xdsListen: {
    flag: '--xds-listen',
    env: 'FAIRWAY_XDS_LISTEN',
    help: 'address of the xDS server, host:port',
    parse: parseListen,
  },
  advertise: {
    flag: '--advertise',
    env: 'FAIRWAY_ADVERTISE',
    help: 'host by which other controllers and nodes reach this one; else where it listens, or its host name',
    parse: parseAdvertised,
  },
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
  xdsTls: {
    flag: '--xds-tls',
    env: 'FAIRWAY_XDS_TLS',
    help: 'mutual TLS of xDS: none, own (nodes join by token) or files',
    parse: oneOf(['none', 'own', 'files']),
  },
  xdsCert: {
    flag: '--xds-cert',
    env: 'FAIRWAY_XDS_CERT',
    help: 'with --xds-tls files: certificate chain of the server, a PEM file that is read anew when it changes',
    parse: parsePath,
  },
  xdsKey: { flag: '--xds-key', env: 'FAIRWAY_XDS_KEY', help: 'the same: its private key', parse: parsePath },
  xdsCa: { flag: '--xds-ca', env: 'FAIRWAY_XDS_CA', help: 'the same: CAs of the nodes', parse: parsePath },
  xdsCrl: { flag: '--xds-crl', env: 'FAIRWAY_XDS_CRL', help: 'the same: their revocation lists', parse: parsePath },
  certificateLife: {
    flag: '--certificate-life',
    env: 'FAIRWAY_CERTIFICATE_LIFE',
    help: 'with --xds-tls own: how long certificates are good; they are renewed at two thirds of it',
    parse: parseLife,
  },
  ...accessFields,
  insecure: {
    flag: '--insecure',
    env: 'FAIRWAY_INSECURE',
    help: 'listen beyond loopback without TLS and authentication',
    parse: parseBoolean,
  },
  traces: {
    flag: '--traces',
    env: 'FAIRWAY_TRACES',
    help: 'OTLP receiver of traces, http://host:4318/v1/traces; empty: traces are off',
    parse: parseTraces,
  },
  auditEntries: {
    flag: '--audit-entries',
    env: 'FAIRWAY_AUDIT_ENTRIES',
    help: 'records of writes kept for the audit, and a quarter as many of refusals',
    parse: wholeNumber(100, 1_000_000),
  },
  auditDays: {
    flag: '--audit-days',
    env: 'FAIRWAY_AUDIT_DAYS',
    help: 'how many days they are kept at most',
    parse: wholeNumber(1, 3_650),
  },
  logLevel: {
    flag: '--log-level',
    env: 'FAIRWAY_LOG_LEVEL',
    help: 'trace, debug, info, warn, error, fatal or silent',
    parse: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
  },
};

const fields = Object.keys(serverFields) as Field[];

/**
 * The configuration from a file's content (already read as YAML or JSON), the environment and flags; later ones win:
 * default < file < environment < flag. Flags are given by field name. All faults are told at once; `pointer` is
 * the field of the file, the variable or the flag.
 */
export function parseServerConfig(input: {
  readonly file?: unknown;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly flags: Readonly<Partial<Record<Field, unknown>>>;
}): Result<ServerConfig, FieldError[]> {
  const errors: FieldError[] = [];
  const values: Record<string, unknown> = { ...serverDefaults };
  const take = (field: Field, value: unknown, pointer: string): void => {
    const parsed = serverFields[field].parse(value);
    if (parsed.ok) values[field] = parsed.value;
    else errors.push({ pointer, message: parsed.error });
  };
  /** `store: {kind: etcd, endpoints: […], …}` is the same as `store: etcd` and the fields that begin with `etcd`. */
  const takeStore = (store: Readonly<Record<string, unknown>>): void => {
    for (const [name, value] of Object.entries(store)) {
      const field = storeFields.get(name);
      if (field !== undefined) take(field, value, `/store/${name}`);
      else {
        const near = nearest(name, [...storeFields.keys()]);
        const hint =
          near === undefined ? `; there are ${[...storeFields.keys()].join(', ')}` : `; did you mean ${near}?`;
        errors.push({ pointer: `/store/${name}`, message: `unknown field${hint}` });
      }
    }
  };
  const { file } = input;
  if (file !== undefined && file !== null) {
    if (typeof file !== 'object' || Array.isArray(file))
      errors.push({ pointer: '', message: 'must be a mapping of fields' });
    else {
      for (const [name, value] of Object.entries(file)) {
        if (name === 'store' && isMapping(value)) takeStore(value);
        else if (isField(name)) take(name, value, `/${name}`);
        else errors.push({ pointer: `/${name}`, message: unknownField(name) });
      }
    }
  }
  for (const field of fields) {
    const { env, flag } = serverFields[field];
    if (input.env[env] !== undefined) take(field, input.env[env], env);
    if (input.flags[field] !== undefined) take(field, input.flags[field], flag);
  }
  if (errors.length > 0) return err(errors);
  const config = values as unknown as ServerConfig;
  const faults = [
    ...missingFiles(config),
    ...halfGiven(config),
    ...ownFaults(config),
    ...(config.insecure ? [] : openBeyondLoopback(config)),
    ...clusterFaults(config),
  ];
  return faults.length > 0 ? err(faults) : ok(config);
}

/** Names below `store` in a file. */
const storeFields: ReadonlyMap<string, Field> = new Map<string, Field>([
  ['kind', 'store'],
  ...fields.flatMap((field): [string, Field][] => {
    if (!field.startsWith('etcd')) return [];
    const name = field.slice('etcd'.length);
    return [[name.charAt(0).toLowerCase() + name.slice(1), field]];
  }),
]);

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What of the fields for a cluster does not go together. */
function clusterFaults(config: ServerConfig): FieldError[] {
  const errors: FieldError[] = [];
  if (config.roles !== serverDefaults.roles && config.store !== 'etcd') {
    const message = `an embedded store has one process, which runs all parts: use it with ${serverFields.store.flag} etcd`;
    errors.push({ pointer: serverFields.roles.flag, message });
  }
  const needs = (field: Field, other: Field): void => {
    if (config[field] !== '' && config[other] === '')
      errors.push({ pointer: serverFields[field].flag, message: `needs ${serverFields[other].flag} too` });
  };
  needs('etcdCert', 'etcdKey');
  needs('etcdKey', 'etcdCert');
  needs('etcdUser', 'etcdPasswordFile');
  needs('etcdPasswordFile', 'etcdUser');
  if (config.etcdEndpoints.startsWith('https:')) return errors;
  for (const field of ['etcdCa', 'etcdCert'] as const) {
    if (config[field] === '') continue;
    const message = `is for TLS, but ${serverFields.etcdEndpoints.flag} are http`;
    errors.push({ pointer: serverFields[field].flag, message });
  }
  return errors;
}

function isField(name: string): name is Field {
  return Object.hasOwn(serverFields, name);
}

function unknownField(name: string): string {
  const near = nearest(name, fields);
  return near === undefined ? `unknown field; there are ${fields.join(', ')}` : `unknown field; did you mean ${near}?`;
}

function missingFiles(config: ServerConfig): FieldError[] {
  if (config.xdsTls !== 'files') return [];
  return (['xdsCert', 'xdsKey', 'xdsCa'] as const).flatMap((field) => {
    const message = `is needed with ${serverFields.xdsTls.flag} files`;
    return config[field] === '' ? [{ pointer: serverFields[field].flag, message }] : [];
  });
}

/** Fields that mean nothing without each other. */
function halfGiven(config: ServerConfig): FieldError[] {
  const needs: readonly (readonly [given: Field, needed: Field])[] = [
    ['tlsCert', 'tlsKey'],
    ['tlsKey', 'tlsCert'],
    ['tlsClientCa', 'tlsCert'],
    ['oidcIssuer', 'oidcAudience'],
    ['oidcAudience', 'oidcIssuer'],
  ];
  return needs
    .filter(([given, needed]) => config[given] !== '' && config[needed] === '')
    .map(([given, needed]) => ({
      pointer: serverFields[needed].flag,
      message: `is needed with ${serverFields[given].flag}`,
    }));
}

function ownFaults({ tlsOwn, tlsCert, xdsTls }: ServerConfig): FieldError[] {
  if (!tlsOwn) return [];
  const faults: FieldError[] = [];
  if (xdsTls !== 'own') faults.push({ pointer: serverFields.tlsOwn.flag, message: 'needs --xds-tls own' });
  if (tlsCert !== '') faults.push({ pointer: serverFields.tlsOwn.flag, message: 'does not go with --tls-cert' });
  return faults;
}

/** Beyond loopback nothing listens without TLS and authentication unless it was said on purpose. */
function openBeyondLoopback(config: ServerConfig): FieldError[] {
  const lacks = {
    listen: [
      ...(config.tlsCert === '' && !config.tlsOwn ? ['no TLS (--tls-cert, --tls-key, or --tls-own)'] : []),
      ...(config.authentication === 'none' ? ['no authentication (--authentication)'] : []),
    ],
    xdsListen: config.xdsTls === 'none' ? ['neither TLS nor authentication of nodes (--xds-tls)'] : [],
  };
  return (['listen', 'xdsListen'] as const).flatMap((field) => {
    const { host } = splitHostPort(config[field]) as HostPort;
    if (isLoopback(host) || lacks[field].length === 0) return [];
    const message = `${host} is not loopback, and this server has ${lacks[field].join(' and ')}: say --insecure if everybody who can listen in or reaches it may see and change everything`;
    return [{ pointer: serverFields[field].flag, message }];
  });
}

function isLoopback(host: string): boolean {
  const address = canonicalIp(host);
  return host === 'localhost' || address === '::1' || address?.startsWith('127.') === true;
}

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** `127.0.0.1:7600`, `[::1]:7600`, `localhost:0`; undefined when it is none of these. */
export function splitHostPort(text: string): HostPort | undefined {
  const parts = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text);
  const host = parts?.[1] ?? parts?.[2];
  const port = Number(parts?.[3]);
  return host === undefined || port > 65535 ? undefined : { host, port };
}

/** The other way round. */
export function joinHostPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

function parseListen(value: unknown): Result<string, string> {
  const split = typeof value === 'string' ? splitHostPort(value) : undefined;
  if (typeof value !== 'string' || split === undefined)
    return err('must be host:port, for instance 127.0.0.1:7600 or [::1]:7600');
  if (split.host !== 'localhost' && parseIp(split.host) === undefined) return err(`${split.host} is not an IP address`);
  return ok(value);
}

function parsePath(value: unknown): Result<string, string> {
  return typeof value === 'string' && value !== '' ? ok(value) : err('must be a path');
}

/** Credentials have their own place, which is not printed: `OTEL_EXPORTER_OTLP_HEADERS`. */
function parseTraces(value: unknown): Result<string, string> {
  if (value === '') return ok('');
  const url = typeof value === 'string' ? URL.parse(value) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) return err('must be a URL, http:// or https://');
  if (url.username + url.password !== '') {
    return err('must not hold credentials: give them as OTEL_EXPORTER_OTLP_HEADERS');
  }
  return ok(url.href);
}

/** Shorter ones would be renewed all the time; longer ones make a stolen key good for too long. */
const life = { minMs: 3_000, maxMs: 90 * 86_400_000 };

function parseLife(value: unknown): Result<string, string> {
  const ms = typeof value === 'string' ? parseDuration(value) : undefined;
  if (typeof value !== 'string' || ms === undefined) return err('must be a duration such as 24h');
  return ms >= life.minMs && ms <= life.maxMs ? ok(value) : err('must be from 3s to 2160h');
}

const roles = ['api', 'xds', 'control'];

/** In the order above, each once, from a text or from a list. */
function parseRoles(value: unknown): Result<string, string> {
  const list: unknown[] = Array.isArray(value) ? value : typeof value === 'string' ? value.split(',') : [];
  const words = list.map((word) => (typeof word === 'string' ? word.trim() : ''));
  const unknown = words.find((word) => !roles.includes(word));
  if (words.length === 0 || unknown !== undefined) {
    const near = unknown === undefined ? undefined : nearest(unknown, roles);
    return err(`must be one or more of ${roles.join(', ')}${near === undefined ? '' : `; did you mean ${near}?`}`);
  }
  return ok(roles.filter((role) => words.includes(role)).join(','));
}

/** It is part of a key of the store. */
function parseControllerName(value: unknown): Result<string, string> {
  return typeof value === 'string' && /^[A-Za-z0-9][A-Za-z0-9.:_-]{0,126}$/.test(value)
    ? ok(value)
    : err('must be letters, digits and .:_- , 127 characters at most');
}

/** Labels of RFC 1123, or an address. */
function parseAdvertised(value: unknown): Result<string, string> {
  if (value === '') return ok('');
  const isName =
    typeof value === 'string' && value.length <= 253 && /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(value);
  return isName || (typeof value === 'string' && parseIp(value) !== undefined)
    ? ok(value)
    : err('must be a host name or an IP address, without a port');
}

function parseName(value: unknown): Result<string, string> {
  return typeof value === 'string' && value !== '' ? ok(value) : err('must be a name');
}

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
