import { err, ok, type Result } from '../lib/result.ts';
import { type FieldInfo, oneOf, parseBoolean, wholeNumber } from './field.ts';

/** Who may reach a server, and how: TLS, authentication, and what one identity may take. */
export interface AccessConfig {
  /** `none`: whoever reaches the port may do everything. On loopback only, unless `insecure`. */
  readonly authentication: 'required' | 'none';
  /** PEM files; empty: plain text. */
  readonly tlsCert: string;
  readonly tlsKey: string;
  /** The certificate of the authority that xDS has (`xdsTls: own`) instead of files. */
  readonly tlsOwn: boolean;
  /** PEM file of the CAs whose client certificates are believed; empty: none are asked for. */
  readonly tlsClientCa: string;
  /** Whose bearer tokens are believed; empty: nobody's but our own. */
  readonly oidcIssuer: string;
  readonly oidcAudience: string;
  readonly oidcUsernameClaim: string;
  readonly oidcGroupsClaim: string;
  readonly openMetrics: boolean;
  readonly requestsPerSecond: number;
  readonly watchesPerIdentity: number;
}

export const accessDefaults: AccessConfig = {
  authentication: 'required',
  tlsCert: '',
  tlsKey: '',
  tlsOwn: false,
  tlsClientCa: '',
  oidcIssuer: '',
  oidcAudience: '',
  oidcUsernameClaim: 'sub',
  oidcGroupsClaim: 'groups',
  openMetrics: false,
  requestsPerSecond: 1000,
  watchesPerIdentity: 100,
};

export const accessFields: { readonly [F in keyof AccessConfig]: FieldInfo<AccessConfig[F]> } = {
  authentication: {
    flag: '--authentication',
    env: 'FAIRWAY_AUTHENTICATION',
    help: 'required, or none (on loopback: whoever reaches the port may do everything)',
    parse: oneOf(['required', 'none']),
  },
  tlsCert: {
    flag: '--tls-cert',
    env: 'FAIRWAY_TLS_CERT',
    help: 'PEM file with the certificate of the REST API and its chain; read again when it changes',
    parse: parseOptionalText,
  },
  tlsKey: {
    flag: '--tls-key',
    env: 'FAIRWAY_TLS_KEY',
    help: 'PEM file with its private key',
    parse: parseOptionalText,
  },
  tlsOwn: {
    flag: '--tls-own',
    env: 'FAIRWAY_TLS_OWN',
    help: 'REST API with a certificate of the own authority instead of files (with --xds-tls own)',
    parse: parseBoolean,
  },
  tlsClientCa: {
    flag: '--tls-client-ca',
    env: 'FAIRWAY_TLS_CLIENT_CA',
    help: 'PEM file with the CAs whose client certificates are believed',
    parse: parseOptionalText,
  },
  oidcIssuer: {
    flag: '--oidc-issuer',
    env: 'FAIRWAY_OIDC_ISSUER',
    help: 'URL of the OpenID provider whose bearer tokens are believed',
    parse: parseIssuer,
  },
  oidcAudience: {
    flag: '--oidc-audience',
    env: 'FAIRWAY_OIDC_AUDIENCE',
    help: 'audience that these tokens must be for',
    parse: parseOptionalText,
  },
  oidcUsernameClaim: {
    flag: '--oidc-username-claim',
    env: 'FAIRWAY_OIDC_USERNAME_CLAIM',
    help: 'claim with the name of the user',
    parse: parseText,
  },
  oidcGroupsClaim: {
    flag: '--oidc-groups-claim',
    env: 'FAIRWAY_OIDC_GROUPS_CLAIM',
    help: 'claim with the groups of the user',
    parse: parseText,
  },
  openMetrics: {
    flag: '--open-metrics',
    env: 'FAIRWAY_OPEN_METRICS',
    help: 'answer /metrics to everybody who reaches the port',
    parse: parseBoolean,
  },
  requestsPerSecond: {
    flag: '--requests-per-second',
    env: 'FAIRWAY_REQUESTS_PER_SECOND',
    help: 'requests of one identity; twice as many at once after a rest',
    parse: wholeNumber(1, 1_000_000),
  },
  watchesPerIdentity: {
    flag: '--watches-per-identity',
    env: 'FAIRWAY_WATCHES_PER_IDENTITY',
    help: 'watches of one identity that are open at a time',
    parse: wholeNumber(1, 100_000),
  },
};

function parseText(value: unknown): Result<string, string> {
  return typeof value === 'string' && value !== '' ? ok(value) : err('must be a text that is not empty');
}

function parseOptionalText(value: unknown): Result<string, string> {
  return typeof value === 'string' ? ok(value) : err('must be a text');
}

/** OpenID Connect Core 1.0 section 2: https, no query, no fragment. Plain http would let others choose the keys. */
function parseIssuer(value: unknown): Result<string, string> {
  if (value === '') return ok('');
  const url = typeof value === 'string' ? URL.parse(value) : null;
  if (typeof value !== 'string' || url === null) return err('must be a URL');
  if (url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '') {
    return err('must be a URL with a host and a path and nothing else');
  }
  const isHere = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
  if (url.protocol === 'https:' || (url.protocol === 'http:' && isHere)) return ok(value);
  return err('must begin with https://: whoever can change what comes from there can be anybody');
}
