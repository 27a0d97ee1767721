import { type Static, Type } from 'typebox';
import { canonicalIp } from '../lib/ip.ts';
import { type Reference, resolveRef } from './ref.ts';
import { Closed, Duration, durationMs, type Immutable, maxUint32, Port, Ref, Text } from './schema.ts';

/** BackendPool: members, how requests are spread over them, how their health is seen. */

/** What holds where a BackendPool leaves a field out. */
export const backendPoolDefaults = {
  weight: 1,
  priority: 0,
  algorithm: 'roundRobin',
  connectTimeout: '5s',
  drainTimeout: '60s',
  protocol: 'http1',
  check: { path: '/', interval: '5s', timeout: '3s', rise: 2, fall: 3, expect: '200-299' },
  outlier: { consecutive5xx: 5, interval: '10s', baseEjection: '30s', maxEjectionPercent: 50 },
} as const;

const memberSchema = Closed({
  address: Text('fairway-member-address', {
    description: 'IPv4 or IPv6 address, or a DNS name that the proxies resolve.',
  }),
  port: Port('Port of the member.'),
  weight: Type.Optional(
    Type.Integer({
      // With 2048 members of this weight the sum stays far below the uint32 that Envoy keeps it in.
      minimum: 0,
      maximum: 65535,
      default: backendPoolDefaults.weight,
      description: 'Share of the traffic among members of the same priority. 0: none.',
    }),
  ),
  priority: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 127,
      default: backendPoolDefaults.priority,
      description: 'Members of the lowest number are used first, others when too few of those are up.',
    }),
  ),
  enabled: Type.Optional(
    Type.Boolean({
      default: true,
      description: 'false: kept, but gets no traffic; it leaves as a removed member does.',
    }),
  ),
  drain: Type.Optional(
    Type.Boolean({ default: false, description: 'true: gets nothing new; open requests and connections may end.' }),
  ),
});

const hashSchema = Closed(
  {
    source: Type.Enum(['sourceIp', 'header', 'cookie', 'query'], { description: 'What requests are told apart by.' }),
    name: Type.Optional(
      Text('fairway-text', {
        minLength: 1,
        maxLength: 256,
        description: 'Name of the header, cookie or query parameter.',
      }),
    ),
  },
  { description: 'What ringHash and maglev choose the member by; needed by these two, refused with the others.' },
);

const healthCheckSchema = Closed({
  type: Type.Enum(['HTTP', 'TCP', 'GRPC'], {
    description:
      'HTTP: a GET. TCP: a connection. GRPC: grpc.health.v1, needs protocol http2. All through the TLS of the pool.',
  }),
  path: Type.Optional(
    Text('fairway-request-target', {
      maxLength: 1024,
      default: backendPoolDefaults.check.path,
      description: 'HTTP: path that is asked for, with its query.',
    }),
  ),
  host: Type.Optional(Text('fairway-hostname', { description: 'HTTP: Host header; absent: the name of the pool.' })),
  expect: Type.Optional(
    Type.Array(Type.Union([Type.Integer({ minimum: 100, maximum: 599 }), Text('fairway-status-range')]), {
      minItems: 1,
      maxItems: 16,
      default: [backendPoolDefaults.check.expect],
      description: 'HTTP: statuses of a healthy member, single (204) or a range (200-299).',
    }),
  ),
  service: Type.Optional(
    Text('fairway-text', {
      minLength: 1,
      maxLength: 256,
      description: 'GRPC: service asked for; absent: the server as a whole.',
    }),
  ),
  interval: Type.Optional(
    Duration({
      min: '100ms',
      max: '1h',
      default: backendPoolDefaults.check.interval,
      description: 'Time between checks, the same with and without traffic.',
    }),
  ),
  timeout: Type.Optional(
    Duration({
      min: '10ms',
      max: '10m',
      default: backendPoolDefaults.check.timeout,
      description: 'Limit of one check.',
    }),
  ),
  rise: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 100,
      default: backendPoolDefaults.check.rise,
      description: 'Good checks in a row that bring a member up.',
    }),
  ),
  fall: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 100,
      default: backendPoolDefaults.check.fall,
      description: 'Bad checks in a row, bad statuses too, that take a member down.',
    }),
  ),
});

const limit = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: maxUint32, description: `${description}; absent: no limit.` }));

const limitsSchema = Closed(
  {
    maxConnections: limit('Open connections to the pool'),
    maxPending: limit('Requests that wait for a connection'),
    maxRequests: limit('Requests under way'),
    perMember: limit('Open connections to one member'),
  },
  { description: 'Limits of each proxy towards the pool. What is above them is refused at once (503).' },
);

const outlierDetectionSchema = Closed(
  {
    consecutive5xx: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1000,
        default: backendPoolDefaults.outlier.consecutive5xx,
        description: 'Failures in a row (5xx, resets, failed connections) that eject a member.',
      }),
    ),
    interval: Type.Optional(
      Duration({
        min: '100ms',
        max: '1h',
        default: backendPoolDefaults.outlier.interval,
        description: 'How often ejected members are looked at again.',
      }),
    ),
    baseEjection: Type.Optional(
      Duration({
        min: '100ms',
        // Envoy refuses a base above its max_ejection_time, which the translation raises to the same limit.
        max: '1h',
        default: backendPoolDefaults.outlier.baseEjection,
        description: 'Length of the first ejection; the nth lasts n times as long.',
      }),
    ),
    maxEjectionPercent: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 100,
        default: backendPoolDefaults.outlier.maxEjectionPercent,
        description: 'Largest share of the members that may be ejected at once.',
      }),
    ),
  },
  { description: 'Takes members out that answer badly; absent: none is.' },
);

const upstreamTlsSchema = Closed(
  {
    sni: Type.Optional(
      Text('fairway-dns-name', {
        description:
          "Server name that is asked for and that the member's certificate must carry; absent: none is sent, and any certificate of the CA will do.",
      }),
    ),
    ca: Ref("Certificate with `ca`: who may have signed the member's certificate. Members are always verified."),
    certificate: Type.Optional(Ref('Certificate with chain and key, shown to members that ask for one.')),
  },
  { description: 'Speaks TLS to the members; absent: plain.' },
);

export const backendPoolSchema = Closed(
  {
    members: Type.Optional(
      Type.Array(memberSchema, { maxItems: 2048, description: 'Servers behind the pool; none: requests get 503.' }),
    ),
    algorithm: Type.Optional(
      Type.Enum(['roundRobin', 'leastRequest', 'random', 'ringHash', 'maglev'], {
        default: backendPoolDefaults.algorithm,
        description: 'How a member is chosen for a request or a TCP connection.',
      }),
    ),
    hash: Type.Optional(hashSchema),
    healthChecks: Type.Optional(
      Type.Array(healthCheckSchema, {
        // Envoy refuses a cluster with more than one ("Multiple health checks not supported").
        maxItems: 1,
        description: 'Active check that each proxy makes; none: every member counts as up.',
      }),
    ),
    outlierDetection: Type.Optional(outlierDetectionSchema),
    limits: Type.Optional(limitsSchema),
    connectTimeout: Type.Optional(
      Duration({
        min: '1ms',
        max: '5m',
        default: backendPoolDefaults.connectTimeout,
        description: 'Limit for opening a connection to a member, TLS included.',
      }),
    ),
    drainTimeout: Type.Optional(
      Duration({
        min: '0s',
        max: '24h',
        default: backendPoolDefaults.drainTimeout,
        description:
          'How long a member that is removed or disabled stays with the proxies as draining: nothing new goes to it, what is open may end. 0s: it is taken away at once. Nothing that is open is cut in either case.',
      }),
    ),
    slowStart: Type.Optional(
      Duration({
        min: '1s',
        max: '1h',
        description:
          'Time over which a new member comes to its full share; absent: at once. Only roundRobin and leastRequest.',
      }),
    ),
    tls: Type.Optional(upstreamTlsSchema),
    protocol: Type.Optional(
      Type.Enum(['http1', 'http2', 'auto'], {
        default: backendPoolDefaults.protocol,
        description:
          'HTTP version spoken to the members. auto: what they choose in the TLS handshake, so it needs `tls`.',
      }),
    ),
    allowedScopes: Type.Optional(
      Type.Array(Text('fairway-scope-pattern'), {
        maxItems: 100,
        uniqueItems: true,
        description: 'Other scopes that may use the pool, `*` for every scope; absent: none.',
      }),
    ),
  },
  { description: 'Servers behind a service, how traffic is spread over them and how their health is seen.' },
);

export type BackendPoolSpec = Immutable<Static<typeof backendPoolSchema>>;
export type Member = Immutable<Static<typeof memberSchema>>;
export type HealthCheck = Immutable<Static<typeof healthCheckSchema>>;
export type OutlierDetection = Immutable<Static<typeof outlierDetectionSchema>>;
export type PoolLimits = Immutable<Static<typeof limitsSchema>>;
export type UpstreamTls = Immutable<Static<typeof upstreamTlsSchema>>;
export type PoolHash = Immutable<Static<typeof hashSchema>>;

export interface EffectiveMember {
  readonly address: string;
  readonly port: number;
  readonly weight: number;
  readonly priority: number;
  readonly enabled: boolean;
  readonly drain: boolean;
}

export function effectiveMember(member: Member): EffectiveMember {
  return {
    address: member.address,
    port: member.port,
    weight: member.weight ?? backendPoolDefaults.weight,
    priority: member.priority ?? backendPoolDefaults.priority,
    enabled: member.enabled ?? true,
    drain: member.drain ?? false,
  };
}

/** What makes a member the same one, however its address is written: `10.0.0.5:80`, `[2001:db8::1]:80`. */
export function memberKey({ address, port }: { readonly address: string; readonly port: number }): string {
  const host = canonicalIp(address) ?? address.toLowerCase();
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Whether the proxies know the member as one of the pool's own. */
export function isServing(member: Member): boolean {
  const { enabled, weight } = effectiveMember(member);
  return enabled && weight > 0;
}

export interface EffectiveBackendPool {
  readonly algorithm: NonNullable<BackendPoolSpec['algorithm']>;
  readonly protocol: NonNullable<BackendPoolSpec['protocol']>;
  readonly connectTimeoutMs: number;
  /** 0: a member that leaves is taken away at once. */
  readonly drainTimeoutMs: number;
  /** Absent: a new member gets its full share at once. */
  readonly slowStartMs: number | undefined;
}

/** The settings of the pool as a whole with the defaults filled in. */
export function effectiveBackendPool(spec: BackendPoolSpec): EffectiveBackendPool {
  return {
    algorithm: spec.algorithm ?? backendPoolDefaults.algorithm,
    protocol: spec.protocol ?? backendPoolDefaults.protocol,
    connectTimeoutMs: durationMs(spec.connectTimeout ?? backendPoolDefaults.connectTimeout),
    drainTimeoutMs: durationMs(spec.drainTimeout ?? backendPoolDefaults.drainTimeout),
    slowStartMs: spec.slowStart === undefined ? undefined : durationMs(spec.slowStart),
  };
}

/** Statuses from `first` to `last`, both included. */
export interface StatusRange {
  readonly first: number;
  readonly last: number;
}

export interface EffectiveHealthCheck {
  readonly type: HealthCheck['type'];
  readonly path: string;
  /** Absent: the name of the pool. */
  readonly host: string | undefined;
  readonly expect: readonly StatusRange[];
  /** Absent: the server as a whole. */
  readonly service: string | undefined;
  readonly intervalMs: number;
  readonly timeoutMs: number;
  readonly rise: number;
  readonly fall: number;
}

export function effectiveHealthCheck(check: HealthCheck): EffectiveHealthCheck {
  const defaults = backendPoolDefaults.check;
  return {
    type: check.type,
    path: check.path ?? defaults.path,
    host: check.host,
    expect: (check.expect ?? [defaults.expect]).map(statusRange),
    service: check.service,
    intervalMs: durationMs(check.interval ?? defaults.interval),
    timeoutMs: durationMs(check.timeout ?? defaults.timeout),
    rise: check.rise ?? defaults.rise,
    fall: check.fall ?? defaults.fall,
  };
}

function statusRange(expected: number | string): StatusRange {
  const [first = '', last = first] = String(expected).split('-');
  return { first: Number(first), last: Number(last) };
}

export interface EffectiveOutlierDetection {
  readonly consecutive5xx: number;
  readonly intervalMs: number;
  readonly baseEjectionMs: number;
  readonly maxEjectionPercent: number;
}

export function effectiveOutlierDetection(detection: OutlierDetection): EffectiveOutlierDetection {
  const defaults = backendPoolDefaults.outlier;
  return {
    consecutive5xx: detection.consecutive5xx ?? defaults.consecutive5xx,
    intervalMs: durationMs(detection.interval ?? defaults.interval),
    baseEjectionMs: durationMs(detection.baseEjection ?? defaults.baseEjection),
    maxEjectionPercent: detection.maxEjectionPercent ?? defaults.maxEjectionPercent,
  };
}

/** Reasons of the conditions of a BackendPool. */
export const backendPoolReasons = {
  Accepted: ['Accepted', 'InternalError'],
  ResolvedRefs: [
    'ResolvedRefs',
    'ReferenceMissing',
    'ReferenceNotAllowed',
    'ReferenceNotUsable',
    'Expired',
    'InternalError',
  ],
  Programmed: [
    'Programmed',
    'Pending',
    'NoProxies',
    'NotReferenced',
    'RejectedByProxy',
    'NotAccepted',
    'InternalError',
  ],
} as const;

export function backendPoolReferences(spec: BackendPoolSpec, scope: string): readonly Reference[] {
  if (spec.tls === undefined) return [];
  const { ca, certificate } = spec.tls;
  const reference = (field: string, name: string): Reference => ({
    field,
    kind: 'Certificate',
    key: resolveRef(name, 'Certificate', scope),
  });
  return [
    reference('/spec/tls/ca', ca),
    ...(certificate === undefined ? [] : [reference('/spec/tls/certificate', certificate)]),
  ];
}
