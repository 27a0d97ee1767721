import { createRegistry, fromBinary, type JsonValue, toJson } from '@bufbuild/protobuf';
import { StringValueSchema } from '@bufbuild/protobuf/wkt';
import { ClusterSchema } from '../gen/envoy/config/cluster/v3/cluster_pb.js';
import { TypedExtensionConfigSchema } from '../gen/envoy/config/core/v3/extension_pb.js';
import { ClusterLoadAssignmentSchema } from '../gen/envoy/config/endpoint/v3/endpoint_pb.js';
import { ListenerSchema } from '../gen/envoy/config/listener/v3/listener_pb.js';
import { RouteConfigurationSchema } from '../gen/envoy/config/route/v3/route_pb.js';
import { RBACSchema as HttpRbacSchema } from '../gen/envoy/extensions/filters/http/rbac/v3/rbac_pb.js';
import { RouterSchema } from '../gen/envoy/extensions/filters/http/router/v3/router_pb.js';
import { TlsInspectorSchema } from '../gen/envoy/extensions/filters/listener/tls_inspector/v3/tls_inspector_pb.js';
import { HttpConnectionManagerSchema } from '../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js';
import { RBACSchema as NetworkRbacSchema } from '../gen/envoy/extensions/filters/network/rbac/v3/rbac_pb.js';
import { TcpProxySchema } from '../gen/envoy/extensions/filters/network/tcp_proxy/v3/tcp_proxy_pb.js';
import { PreviousHostsPredicateSchema } from '../gen/envoy/extensions/retry/host/previous_hosts/v3/previous_hosts_pb.js';
import { SecretSchema } from '../gen/envoy/extensions/transport_sockets/tls/v3/secret_pb.js';
import {
  DownstreamTlsContextSchema,
  UpstreamTlsContextSchema,
} from '../gen/envoy/extensions/transport_sockets/tls/v3/tls_pb.js';
import { HttpProtocolOptionsSchema } from '../gen/envoy/extensions/upstreams/http/v3/http_protocol_options_pb.js';
import { ResourceSchema } from '../gen/envoy/service/discovery/v3/discovery_pb.js';

/** Every message that translation puts into an Any: what is missing here cannot be described. */
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

/** What stands where a private key stood. Envoy's own config dump says the same. */
const redactedKey = '[redacted]';

/**
 * A resource as people read it: Envoy's JSON form of the inner message with the field names of its documentation, as
 * in Envoy's config dump. Private keys are redacted. `bytes` are those of a {@link Resource}.
 */
export function describeResource(bytes: Uint8Array): JsonValue {
  const options = { registry, useProtoFieldName: true };
  const outer = toJson(ResourceSchema, fromBinary(ResourceSchema, bytes), options) as {
    readonly resource: Readonly<Record<string, JsonValue>>;
  };
  const { '@type': type, ...content } = outer.resource;
  return type === `type.googleapis.com/${SecretSchema.typeName}` ? redact(content) : content;
}

/** The key's place: `tls_certificate.private_key`. */
function redact(secret: Record<string, JsonValue>): JsonValue {
  const pair = secret['tls_certificate'];
  if (typeof pair !== 'object' || pair === null || Array.isArray(pair) || !('private_key' in pair)) return secret;
  return { ...secret, tls_certificate: { ...pair, private_key: { inline_string: redactedKey } } };
}
