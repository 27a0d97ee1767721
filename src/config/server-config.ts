import { parseDuration } from '../lib/duration.ts';
import { parseIp } from '../lib/ip.ts';
import { nearest } from '../lib/nearest.ts';
import { err, ok, type Result } from '../lib/result.ts';
import { type AccessConfig, accessDefaults, accessFields } from './access-config.ts';
import { type FieldInfo, oneOf, parseBoolean, wholeNumber } from './field.ts';
import { splitHostPort } from './host-port.ts';
import { type StoreConfig, storeDefaults, storeFields } from './store-config.ts';
import { type XdsTlsConfig, xdsTlsDefaults, xdsTlsFields } from './xds-tls-config.ts';

/** How a server process runs. Everything else is an object in the store. */
export interface ServerConfig extends StoreConfig, XdsTlsConfig, AccessConfig {
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
  /** How long a proxy, and a controller, stays before some are sent to controllers that have fewer; `0s`: for ever. */
  readonly respreadAfter: string;
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
  respreadAfter: '60s',
  ...storeDefaults,
  ...xdsTlsDefaults,
  ...accessDefaults,
  insecure: false,
  traces: '',
  auditEntries: 20_000,
  auditDays: 90,
  logLevel: 'info',
};

/** Each field with its flag and environment variable: the one table that parsing, help and README follow. */
export const serverFields: { readonly [F in keyof ServerConfig]: FieldInfo<ServerConfig[F]> } = {
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
  respreadAfter: {
    flag: '--respread-after',
    env: 'FAIRWAY_RESPREAD_AFTER',
    help: 'how long proxies stay where they are when another controller has fewer; 0s: for ever',
    parse: parseRest,
  },
  ...storeFields,
  ...xdsTlsFields,
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

function parseListen(value: unknown): Result<string, string> {
  const split = typeof value === 'string' ? splitHostPort(value) : undefined;
  if (typeof value !== 'string' || split === undefined)
    return err('must be host:port, for instance 127.0.0.1:7600 or [::1]:7600');
  if (split.host !== 'localhost' && parseIp(split.host) === undefined) return err(`${split.host} is not an IP address`);
  return ok(value);
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

function parseRest(value: unknown): Result<string, string> {
  const ms = typeof value === 'string' ? parseDuration(value) : undefined;
  return typeof value === 'string' && ms !== undefined && ms <= 86_400_000
    ? ok(value)
    : err('must be a duration such as 60s or 10m, at most 24h');
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
