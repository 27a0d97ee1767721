import { parseDuration } from '../lib/duration.ts';
import { err, ok, type Result } from '../lib/result.ts';
import { type FieldInfo, oneOf, parsePath } from './field.ts';

/** Mutual TLS between nodes and controllers. */
export interface XdsTlsConfig {
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
  /** With `own`, a CA from outside that signs instead of own roots, PEM files; empty: none. */
  readonly caCert: string;
  readonly caKey: string;
  readonly caRoot: string;
  /** How long certificates of nodes are good that the own authority makes. */
  readonly certificateLife: string;
}

export const xdsTlsDefaults: XdsTlsConfig = {
  xdsTls: 'none',
  xdsCert: '',
  xdsKey: '',
  xdsCa: '',
  xdsCrl: '',
  caCert: '',
  caKey: '',
  caRoot: '',
  certificateLife: '24h',
};

export const xdsTlsFields: { readonly [F in keyof XdsTlsConfig]: FieldInfo<XdsTlsConfig[F]> } = {
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
  caCert: {
    flag: '--ca-cert',
    env: 'FAIRWAY_CA_CERT',
    help: 'with --xds-tls own: a CA from outside that signs, with the CAs up to its root, a PEM file; read anew when it changes',
    parse: parsePath,
  },
  caKey: {
    flag: '--ca-key',
    env: 'FAIRWAY_CA_KEY',
    help: 'the same: its private key, which nobody else may read',
    parse: parsePath,
  },
  caRoot: {
    flag: '--ca-root',
    env: 'FAIRWAY_CA_ROOT',
    help: 'the same: the root that it leads to, unless that ends the file of the CA',
    parse: parsePath,
  },
  certificateLife: {
    flag: '--certificate-life',
    env: 'FAIRWAY_CERTIFICATE_LIFE',
    help: 'with --xds-tls own: how long certificates are good; they are renewed at two thirds of it',
    parse: parseLife,
  },
};

/** Shorter ones would be renewed all the time; longer ones make a stolen key good for too long. */
const life = { minMs: 3_000, maxMs: 90 * 86_400_000 };

function parseLife(value: unknown): Result<string, string> {
  const ms = typeof value === 'string' ? parseDuration(value) : undefined;
  if (typeof value !== 'string' || ms === undefined) return err('must be a duration such as 24h');
  return ms >= life.minMs && ms <= life.maxMs ? ok(value) : err('must be from 3s to 2160h');
}
