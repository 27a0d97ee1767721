import type { FieldError } from '../lib/errors.ts';
import { type BackendPoolSpec, backendPoolDefaults, type HealthCheck, memberKey } from './backend-pool.ts';
import { duplicates } from './duplicates.ts';
import { formats } from './formats.ts';
import { pointerTo } from './ref.ts';

/** What a schema cannot say about a BackendPool. */
export function checkBackendPool(spec: BackendPoolSpec): readonly FieldError[] {
  return [
    ...duplicates(spec.members ?? [], '/spec/members', '', memberKey),
    ...checkHash(spec),
    ...(spec.healthChecks ?? []).flatMap((check, i) =>
      checkHealthCheck(check, spec, pointerTo('spec', 'healthChecks', i)),
    ),
    ...checkSlowStart(spec),
    ...(spec.protocol === 'auto' && spec.tls === undefined
      ? [{ pointer: '/spec/protocol', message: 'must not be auto without `tls`: the TLS handshake is what chooses' }]
      : []),
  ];
}

function checkHash(spec: BackendPoolSpec): readonly FieldError[] {
  const { algorithm = backendPoolDefaults.algorithm, hash } = spec;
  const hashes = algorithm === 'ringHash' || algorithm === 'maglev';
  if (hash === undefined) {
    return hashes ? [{ pointer: '/spec/hash', message: `is required with algorithm ${algorithm}` }] : [];
  }
  if (!hashes) {
    return [{ pointer: '/spec/hash', message: `has no effect with algorithm ${algorithm}; use ringHash or maglev` }];
  }
  if (hash.source === 'sourceIp') {
    return hash.name === undefined
      ? []
      : [{ pointer: '/spec/hash/name', message: 'has no meaning with source sourceIp' }];
  }
  if (hash.name === undefined) {
    return [{ pointer: '/spec/hash/name', message: `is required with source ${hash.source}` }];
  }
  // Names of cookies are tokens like those of headers (RFC 6265 section 4.1.1).
  const fault = hash.source === 'query' ? undefined : formats['fairway-header-name']?.(hash.name);
  return fault === undefined ? [] : [{ pointer: '/spec/hash/name', message: fault }];
}

function checkHealthCheck(check: HealthCheck, spec: BackendPoolSpec, pointer: string): readonly FieldError[] {
  const owners = { path: 'HTTP', host: 'HTTP', expect: 'HTTP', service: 'GRPC' } as const;
  const errors: FieldError[] = (Object.keys(owners) as (keyof typeof owners)[])
    .filter((field) => check[field] !== undefined && check.type !== owners[field])
    .map((field) => ({ pointer: `${pointer}/${field}`, message: `is only for type ${owners[field]}` }));
  // Envoy: "cluster must support HTTP/2 for gRPC healthchecking".
  if (check.type === 'GRPC' && spec.protocol !== 'http2') {
    errors.push({ pointer: `${pointer}/type`, message: 'must not be GRPC unless the `protocol` of the pool is http2' });
  }
  return errors;
}

function checkSlowStart(spec: BackendPoolSpec): readonly FieldError[] {
  const { algorithm = backendPoolDefaults.algorithm, slowStart } = spec;
  if (slowStart === undefined || algorithm === 'roundRobin' || algorithm === 'leastRequest') return [];
  return [
    {
      pointer: '/spec/slowStart',
      message: `has no effect with algorithm ${algorithm}; use roundRobin or leastRequest`,
    },
  ];
}
