import { create } from '@bufbuild/protobuf';
import {
  type CircuitBreakers,
  CircuitBreakers_ThresholdsSchema,
  CircuitBreakersSchema,
} from '../gen/envoy/config/cluster/v3/circuit_breaker_pb.js';
import type { PoolLimits } from '../model/index.ts';

/** The largest that the field can say: no limit. */
const none = 4_294_967_295;

/** Limits that were asked for, and no others: Envoy's own (1024 connections and requests, 3 retries) hit silently. */
export function circuitBreakers(limits: PoolLimits = {}): CircuitBreakers {
  return create(CircuitBreakersSchema, {
    thresholds: [
      {
        maxConnections: limits.maxConnections ?? none,
        maxPendingRequests: limits.maxPending ?? none,
        maxRequests: limits.maxRequests ?? none,
        maxRetries: none,
      },
    ],
    perHostThresholds:
      limits.perMember === undefined
        ? []
        : [create(CircuitBreakers_ThresholdsSchema, { maxConnections: limits.perMember })],
  });
}
