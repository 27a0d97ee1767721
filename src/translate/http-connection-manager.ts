import { create } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { type Filter, FilterSchema } from '../gen/envoy/config/listener/v3/listener_components_pb.js';
import { RouterSchema } from '../gen/envoy/extensions/filters/http/router/v3/router_pb.js';
import {
  HttpConnectionManager_CodecType,
  HttpConnectionManagerSchema,
} from '../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js';
import { type EffectiveVirtualService, type Listener, listenerIdleTimeoutMs } from '../model/index.ts';
import { discoveryTimeoutMs, overAds } from './config-source.ts';
import { pack } from './encode.ts';
import { httpPolicySlot } from './policy-slot.ts';

/** HttpConnectionManager: what speaks HTTP to the clients of a filter chain. */

/** Time for the header of a request to arrive whole: bounds clients that send it a byte at a time. */
const requestHeadersTimeoutMs = 30_000;

/** What one client connection may hold of this proxy at a time; HTTP/2 lets clients choose far more by itself. */
const http2Limits = {
  maxConcurrentStreams: 128,
  initialStreamWindowSize: 262_144,
  initialConnectionWindowSize: 1_048_576,
} as const;

const router = {
  name: 'envoy.filters.http.router',
  configType: { case: 'typedConfig', value: pack(RouterSchema, create(RouterSchema)) },
} as const;

export interface HttpSettings {
  readonly policyFailMode: EffectiveVirtualService['policyFailMode'];
  readonly drainTimeoutMs: number;
  /** How long a connection may be idle; 0 is for ever. */
  readonly idleTimeoutMs: number;
}

interface Names {
  /** Name of the RouteConfiguration. */
  readonly table: string;
  /** Name of the slot for HTTP policy. */
  readonly policy: string;
}

export function httpConnectionManager(settings: HttpSettings, { table, policy }: Names): Filter {
  const manager = create(HttpConnectionManagerSchema, {
    codecType: HttpConnectionManager_CodecType.AUTO,
    statPrefix: table,
    routeSpecifier: {
      case: 'rds',
      value: { routeConfigName: table, configSource: overAds(discoveryTimeoutMs) },
    },
    httpFilters: [httpPolicySlot(policy, settings.policyFailMode), router],
    // The client is who connects; what it says of itself in X-Forwarded-For is passed on and not believed.
    useRemoteAddress: true,
    // `/a/../b` is `/b` for rules and backend alike. Slashes are not merged: `//` means something to some backends.
    normalizePath: true,
    mergeSlashes: false,
    // `shop.example.` is the same host as `shop.example`.
    stripTrailingHostDot: true,
    requestHeadersTimeout: durationFromMs(requestHeadersTimeoutMs),
    drainTimeout: durationFromMs(settings.drainTimeoutMs),
    commonHttpProtocolOptions: { idleTimeout: durationFromMs(settings.idleTimeoutMs) },
    http2ProtocolOptions: http2Limits,
  });
  return create(FilterSchema, {
    name: 'envoy.filters.network.http_connection_manager',
    configType: { case: 'typedConfig', value: pack(HttpConnectionManagerSchema, manager) },
  });
}

/** A connection belongs to no single one of the listeners that share the chain: the most patient decides. */
export function longestIdleMs(listeners: readonly Listener[]): number {
  const times = listeners.map(listenerIdleTimeoutMs);
  return times.includes(0) ? 0 : Math.max(...times);
}
