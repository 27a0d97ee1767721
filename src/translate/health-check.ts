import { create } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import {
  type HealthCheck,
  HealthCheck_GrpcHealthCheckSchema,
  type HealthCheck_HttpHealthCheck,
  HealthCheck_HttpHealthCheckSchema,
  HealthCheck_TcpHealthCheckSchema,
  HealthCheckSchema,
} from '../gen/envoy/config/core/v3/health_check_pb.js';
import { CodecClientType } from '../gen/envoy/type/v3/http_pb.js';
import {
  type BackendPoolSpec,
  type EffectiveHealthCheck,
  effectiveBackendPool,
  effectiveHealthCheck,
} from '../model/index.ts';

/** Active checks, with the meaning that the load-balancer field gives to interval and fall, not Envoy's defaults. */
export function healthChecks(spec: BackendPoolSpec, poolName: string): HealthCheck[] {
  return (spec.healthChecks ?? []).map((written) => {
    const check = effectiveHealthCheck(written);
    const interval = durationFromMs(check.intervalMs);
    return create(HealthCheckSchema, {
      timeout: durationFromMs(check.timeoutMs),
      interval,
      // Envoy would check an idle pool once a minute only.
      noTrafficInterval: interval,
      unhealthyThreshold: check.fall,
      healthyThreshold: check.rise,
      healthChecker: healthChecker(check, spec, poolName),
      ...tlsOptions(check, spec),
    });
  });
}

/** Longest time of the checks of a pool until Envoy knows what the first one said; 0 without checks. */
export function firstCheckMs(spec: BackendPoolSpec): number {
  return Math.max(0, ...(spec.healthChecks ?? []).map((check) => effectiveHealthCheck(check).timeoutMs));
}

function healthChecker(
  check: EffectiveHealthCheck,
  spec: BackendPoolSpec,
  poolName: string,
): HealthCheck['healthChecker'] {
  switch (check.type) {
    case 'HTTP':
      return { case: 'httpHealthCheck', value: httpCheck(check, spec, poolName) };
    case 'TCP':
      return { case: 'tcpHealthCheck', value: create(HealthCheck_TcpHealthCheckSchema) };
    case 'GRPC':
      return {
        case: 'grpcHealthCheck',
        value: create(HealthCheck_GrpcHealthCheckSchema, { serviceName: check.service ?? '' }),
      };
  }
}

function httpCheck(check: EffectiveHealthCheck, spec: BackendPoolSpec, poolName: string): HealthCheck_HttpHealthCheck {
  return create(HealthCheck_HttpHealthCheckSchema, {
    // Envoy's own default, the cluster's name, has a slash in it, which servers refuse.
    host: check.host ?? poolName,
    path: check.path,
    expectedStatuses: check.expect.map(({ first, last }) => ({ start: BigInt(first), end: BigInt(last + 1) })),
    // Without this a single bad status takes the member down; with it, bad statuses are counted up to `fall`.
    retriableStatuses: [{ start: 100n, end: 600n }],
    codecClientType: effectiveBackendPool(spec).protocol === 'http2' ? CodecClientType.HTTP2 : CodecClientType.HTTP1,
  });
}

/** The checker speaks HTTP/1.1 to a pool that chooses by ALPN: it must not be offered HTTP/2 and then get it. */
function tlsOptions(check: EffectiveHealthCheck, spec: BackendPoolSpec) {
  const negotiates = spec.tls !== undefined && effectiveBackendPool(spec).protocol === 'auto';
  return check.type === 'HTTP' && negotiates ? { tlsOptions: { alpnProtocols: ['http/1.1'] } } : {};
}
