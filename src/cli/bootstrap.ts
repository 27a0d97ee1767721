import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { type Document, parseDocument, Scalar } from 'yaml';
import { InvariantError } from '../lib/errors.ts';
import type { HostPort } from './host-port.ts';
import { secretFiles, secretNames } from './membership/identity.ts';

/** What makes one Envoy's bootstrap different from another's. */
export interface BootstrapOptions {
  /** Name of the Node object. */
  readonly node: string;
  /** Name of the Fleet object. */
  readonly fleet: string;
  /** xDS addresses of all controllers, equal among each other. */
  readonly controllers: readonly HostPort[];
  readonly admin: HostPort;
  readonly maxConnections: number;
  /** Folder with the secrets for mutual TLS (membership/identity.ts); absent: plain text. */
  readonly secrets?: string;
}

/** The template is a bootstrap that Envoy takes as it is, for people who fill it in by hand. */
const template = new URL('../../envoy/bootstrap/proxy.yaml', import.meta.url);

/** Fills the template in. Gives YAML, with the comments of the template. */
export function createBootstrap(options: BootstrapOptions): string {
  const document = parseDocument(readFileSync(template, 'utf8'));
  document.commentBefore = ` Bootstrap of the Envoy ${options.node} in the fleet ${options.fleet}.`;
  setIn(document, ['node', 'id'], quoted(options.node));
  setIn(document, ['node', 'cluster'], quoted(options.fleet));
  setIn(document, ['admin', 'address', 'socket_address', 'address'], quoted(options.admin.host));
  setIn(document, ['admin', 'address', 'socket_address', 'port_value'], options.admin.port);
  const cluster = ['static_resources', 'clusters', 0];
  // Envoy resolves names of a STRICT_DNS cluster only; addresses need no resolver and must not wait for one.
  const addressesOnly = options.controllers.every(({ host }) => isIP(host) !== 0);
  setIn(document, [...cluster, 'type'], addressesOnly ? 'STATIC' : 'STRICT_DNS');
  setIn(
    document,
    [...cluster, 'load_assignment', 'endpoints', 0, 'lb_endpoints'],
    options.controllers.map(({ host, port }) => {
      const endpoint = { endpoint: { address: { socket_address: { address: quoted(host), port_value: port } } } };
      return document.createNode(endpoint, { flow: true });
    }),
  );
  if (options.secrets !== undefined) {
    document.setIn([...cluster, 'transport_socket'], document.createNode(transportSocket(options.secrets)));
  }
  setIn(
    document,
    ['overload_manager', 'resource_monitors', 0, 'typed_config', 'max_active_downstream_connections'],
    options.maxConnections,
  );
  return document.toString({ lineWidth: 120 });
}

/** Mutual TLS with secrets from files: Envoy reads them anew when they are moved into their place. */
function transportSocket(folder: string): object {
  const source = (secret: keyof typeof secretFiles) => ({
    name: secretNames[secret],
    sds_config: {
      path_config_source: { path: join(folder, secretFiles[secret]), watched_directory: { path: folder } },
      resource_api_version: 'V3',
    },
  });
  return {
    name: 'envoy.transport_sockets.tls',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext',
      common_tls_context: {
        tls_params: { tls_minimum_protocol_version: 'TLSv1_2' },
        alpn_protocols: ['h2'],
        tls_certificate_sds_secret_configs: [source('certificate')],
        validation_context_sds_secret_config: source('ca'),
      },
    },
  };
}

/** Envoy reads YAML 1.1, where a node called `no` would be a truth value. */
function quoted(text: string): Scalar<string> {
  const scalar = new Scalar(text);
  scalar.type = Scalar.QUOTE_DOUBLE;
  return scalar;
}

/** Replaces a value that the template must have. */
function setIn(document: Document, path: readonly (string | number)[], value: unknown): void {
  if (!document.hasIn(path)) throw new InvariantError(`envoy/bootstrap/proxy.yaml has no ${path.join('.')}`);
  document.setIn(path, Array.isArray(value) ? document.createNode(value) : value);
}

/** The name of a Node: an RFC 1123 label. */
const maxNameLength = 63;

/** A Node name made of the name of this machine; undefined when nothing of it can be used. */
export function nodeNameOf(hostname: string): string | undefined {
  const name = hostname
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, maxNameLength)
    .replace(/^-+|-+$/g, '');
  return name === '' ? undefined : name;
}

export function isNodeName(text: string): boolean {
  return text.length <= maxNameLength && /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(text);
}
