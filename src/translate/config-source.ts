import { create } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import {
  AggregatedConfigSourceSchema,
  ApiVersion,
  type ConfigSource,
  ConfigSourceSchema,
} from '../gen/envoy/config/core/v3/config_source_pb.js';

/** How long a listener waits for its routes, certificates and policies, and a cluster for its certificates. */
export const discoveryTimeoutMs = 5000;

/**
 * How long a changed cluster waits for its assignment before it takes the one it had. A net: Envoy does not ask again,
 * the server sends the assignment right after the cluster.
 */
export const assignmentTimeoutMs = 1000;

/** "Ask on the stream that you have", for so long at first. */
export function overAds(initialFetchTimeoutMs: number): ConfigSource {
  return create(ConfigSourceSchema, {
    configSourceSpecifier: { case: 'ads', value: create(AggregatedConfigSourceSchema) },
    resourceApiVersion: ApiVersion.V3,
    initialFetchTimeout: durationFromMs(initialFetchTimeoutMs),
  });
}
