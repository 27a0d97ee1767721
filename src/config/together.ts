import type { FieldError } from '../lib/errors.ts';
import { type HostPort, isLoopback, splitHostPort } from './host-port.ts';
import { type ServerConfig, serverDefaults, serverFields } from './server-config.ts';

/** What is wrong with values that are good each by itself. */
export function faultsTogether(config: ServerConfig): FieldError[] {
  return [
    ...missingFiles(config),
    ...halfGiven(config),
    ...ownFaults(config),
    ...(config.insecure ? [] : openBeyondLoopback(config)),
    ...clusterFaults(config),
  ];
}

type Field = keyof ServerConfig;

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
    ['caCert', 'caKey'],
    ['caKey', 'caCert'],
    ['caRoot', 'caCert'],
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

function ownFaults({ tlsOwn, tlsCert, caCert, xdsTls }: ServerConfig): FieldError[] {
  const faults: FieldError[] = [];
  if (caCert !== '' && xdsTls !== 'own') {
    faults.push({ pointer: serverFields.caCert.flag, message: 'needs --xds-tls own' });
  }
  if (!tlsOwn) return faults;
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
