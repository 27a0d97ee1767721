/** The golden cases: what objects become. Inputs are manifests; outputs are the messages as YAML, one file per xDS type. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createRegistry, fromBinary, toJson } from '@bufbuild/protobuf';
import { StringValueSchema } from '@bufbuild/protobuf/wkt';
import { stringify } from 'yaml';
import { ClusterSchema } from '../../src/gen/envoy/config/cluster/v3/cluster_pb.js';
import { TypedExtensionConfigSchema } from '../../src/gen/envoy/config/core/v3/extension_pb.js';
import { ClusterLoadAssignmentSchema } from '../../src/gen/envoy/config/endpoint/v3/endpoint_pb.js';
import { ListenerSchema } from '../../src/gen/envoy/config/listener/v3/listener_pb.js';
import { RouteConfigurationSchema } from '../../src/gen/envoy/config/route/v3/route_pb.js';
import { RBACSchema as HttpRbacSchema } from '../../src/gen/envoy/extensions/filters/http/rbac/v3/rbac_pb.js';
import { RouterSchema } from '../../src/gen/envoy/extensions/filters/http/router/v3/router_pb.js';
import { TlsInspectorSchema } from '../../src/gen/envoy/extensions/filters/listener/tls_inspector/v3/tls_inspector_pb.js';
import { HttpConnectionManagerSchema } from '../../src/gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js';
import { RBACSchema as NetworkRbacSchema } from '../../src/gen/envoy/extensions/filters/network/rbac/v3/rbac_pb.js';
import { TcpProxySchema } from '../../src/gen/envoy/extensions/filters/network/tcp_proxy/v3/tcp_proxy_pb.js';
import { PreviousHostsPredicateSchema } from '../../src/gen/envoy/extensions/retry/host/previous_hosts/v3/previous_hosts_pb.js';
import { SecretSchema } from '../../src/gen/envoy/extensions/transport_sockets/tls/v3/secret_pb.js';
import {
  DownstreamTlsContextSchema,
  UpstreamTlsContextSchema,
} from '../../src/gen/envoy/extensions/transport_sockets/tls/v3/tls_pb.js';
import { HttpProtocolOptionsSchema } from '../../src/gen/envoy/extensions/upstreams/http/v3/http_protocol_options_pb.js';
import { ResourceSchema } from '../../src/gen/envoy/service/discovery/v3/discovery_pb.js';
import type { DraftObject } from '../../src/model/index.ts';
import type { TranslationOptions } from '../../src/translate/index.ts';
import { type Resource, typeUrls } from '../../src/xds/index.ts';
import { createWorld, keyOf, objectsOf, type World } from '../support/world.ts';

export const inFolder = fileURLToPath(new URL('in', import.meta.url));
export const outFolder = fileURLToPath(new URL('out', import.meta.url));

export const caseNames: readonly string[] = readdirSync(inFolder)
  .map((file) => file.replace(/\.yaml$/, ''))
  .sort();

export function readCase(name: string): DraftObject[] {
  return objectsOf(readFileSync(`${inFolder}/${name}.yaml`, 'utf8'));
}

/** A world in which the objects of the case were written one after the other. */
export function worldOf(name: string, options: TranslationOptions = {}): World {
  const world = createWorld(options);
  for (const object of readCase(name)) world.apply(object);
  return world;
}

const registry = createRegistry(
  ClusterSchema,
  ClusterLoadAssignmentSchema,
  SecretSchema,
  TypedExtensionConfigSchema,
  ListenerSchema,
  RouteConfigurationSchema,
  HttpRbacSchema,
  NetworkRbacSchema,
  RouterSchema,
  TlsInspectorSchema,
  HttpConnectionManagerSchema,
  TcpProxySchema,
  PreviousHostsPredicateSchema,
  UpstreamTlsContextSchema,
  DownstreamTlsContextSchema,
  HttpProtocolOptionsSchema,
  StringValueSchema,
);

const files = [
  ['clusters', typeUrls.cluster],
  ['endpoints', typeUrls.endpoint],
  ['secrets', typeUrls.secret],
  ['extensions', typeUrls.extension],
  ['listeners', typeUrls.listener],
  ['routes', typeUrls.route],
] as const;

/** File name → its text; what would be empty has no file. */
export function render(world: World, drafts: readonly DraftObject[]): Map<string, string> {
  const rendered = new Map<string, string>();
  const resources = world.resources();
  for (const [file, type] of files) {
    const own = resources.filter((resource) => resource.type === type);
    if (own.length > 0) {
      rendered.set(
        `${file}.yaml`,
        yaml(Object.fromEntries(own.map((resource) => [resource.name, readable(resource)]))),
      );
    }
  }
  const verdicts = drafts.map(keyOf).map((key) => [key, world.kernel.get(world.graph.verdicts, key)] as const);
  rendered.set('conditions.yaml', yaml(Object.fromEntries(verdicts.filter(([, verdict]) => verdict !== undefined))));
  return rendered;
}

function readable({ bytes, audience, needs, parts, warmupMs }: Resource): unknown {
  const outer = toJson(ResourceSchema, fromBinary(ResourceSchema, bytes), { registry, useProtoFieldName: true }) as {
    resource: Record<string, unknown>;
  };
  const { '@type': _, ...resource } = outer.resource;
  return {
    audience,
    ...(needs.length === 0 ? {} : { needs: needs.map(({ name }) => name) }),
    parts: parts.map(({ unit }) => unit),
    ...(warmupMs === undefined ? {} : { warmupMs }),
    resource: redacted(resource),
  };
}

/** No key in the repository a second time, and no certificate that nobody reads. */
function redacted(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(/-----BEGIN ([A-Z ]+)-----[\s\S]*-----END \1-----/, '[$1]');
  if (Array.isArray(value)) return value.map(redacted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, redacted(inner)]));
}

function yaml(value: unknown): string {
  return stringify(value, { sortMapEntries: true, lineWidth: 120, aliasDuplicateObjects: false });
}
