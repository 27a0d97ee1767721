import { type Static, Type } from 'typebox';
import { objectKey, pointerTo, type Reference, resolveRef } from './ref.ts';
import { actionChoices, actionProperties, actionReferences, routeProperties, ruleReferences } from './rule.ts';
import { Closed, Duration, durationMs, ExactlyOne, Hosts, type Immutable, Port, Ref, Text } from './schema.ts';

/** VirtualService: a service offered at addresses and ports. */

/** What holds where a VirtualService leaves a field out. */
export const virtualServiceDefaults = {
  enabled: true,
  policyFailMode: 'deny',
  drainTimeout: '30s',
  listenerIdleTimeout: '1h',
} as const;

const defaultActionSchema = ExactlyOne(
  { ...actionProperties, pool: Type.Optional(Ref('TCP: BackendPool that gets every connection.')) },
  {
    choices: [...actionChoices, 'pool'],
    description:
      'What happens to what no rule takes. HTTP and HTTPS: an action as in a rule; absent: 404. TCP: `pool`, and it must be given.',
  },
);

const inlineRouteSchema = Closed(routeProperties, { description: 'Hosts and their rules, as in a Route.' });

const listenerSchema = Closed({
  name: Text('fairway-name', { description: 'Name of the listener, unique in the service. Routes attach by it.' }),
  port: Port(
    'TCP port. Listeners of one service may share it when their protocol is equal and their hosts are disjoint.',
  ),
  protocol: Type.Enum(['HTTP', 'HTTPS', 'TCP'], {
    description: 'HTTP: HTTP/1.1 and HTTP/2 without TLS. HTTPS: the same with TLS ended here. TCP: bytes.',
  }),
  certificates: Type.Optional(
    Type.Array(Ref('Certificate with chain and key.'), {
      minItems: 1,
      maxItems: 16,
      uniqueItems: true,
      description:
        'HTTPS: the certificates offered, chosen by the name that the client asks for. The first is the default.',
    }),
  ),
  hosts: Hosts('HTTP and HTTPS: hosts that the listener serves (Host header, SNI); absent: all.'),
  routes: Type.Optional(
    Type.Array(inlineRouteSchema, {
      minItems: 1,
      maxItems: 100,
      description: 'HTTP and HTTPS: rules of the service itself.',
    }),
  ),
  allowedRoutes: Type.Optional(
    Closed(
      {
        scopes: Type.Optional(
          Type.Array(Text('fairway-scope-pattern'), {
            minItems: 1,
            maxItems: 100,
            uniqueItems: true,
            description: 'Scopes whose Routes may attach, `*` for every scope; absent: the own one.',
          }),
        ),
        hosts: Hosts('Hosts that attached Routes may claim; absent: all hosts of the listener.'),
      },
      { description: 'HTTP and HTTPS: which Route objects may attach; absent: those of the own scope.' },
    ),
  ),
  defaultAction: Type.Optional(defaultActionSchema),
  idleTimeout: Type.Optional(
    Duration({
      min: '0s',
      max: '24h',
      default: virtualServiceDefaults.listenerIdleTimeout,
      description: 'Closes a client connection without a request (TCP: without a byte) for so long. 0s: never.',
    }),
  ),
});

export const virtualServiceSchema = Closed(
  {
    enabled: Type.Optional(
      Type.Boolean({ default: virtualServiceDefaults.enabled, description: 'false: kept, but not served anywhere.' }),
    ),
    fleet: Type.Optional(
      Text('fairway-name', {
        description: 'Fleet that serves it; absent: the only one, or else the one named `default`.',
      }),
    ),
    addresses: Type.Optional(
      Type.Array(
        Closed({ address: Text('fairway-ip', { description: 'IPv4 or IPv6 address, for instance 203.0.113.10.' }) }),
        {
          minItems: 1,
          maxItems: 16,
          description: 'Addresses to listen on; absent: every address of the node, IPv4 and IPv6.',
        },
      ),
    ),
    listeners: Type.Array(listenerSchema, { minItems: 1, maxItems: 64, description: 'Ports and what is behind them.' }),
    drainTimeout: Type.Optional(
      Duration({
        min: '0s',
        max: '1h',
        default: virtualServiceDefaults.drainTimeout,
        description: 'How long open HTTP connections may end by themselves when the listener goes.',
      }),
    ),
    policyFailMode: Type.Optional(
      Type.Enum(['allow', 'deny'], {
        default: virtualServiceDefaults.policyFailMode,
        description: 'What a listener does with clients until its security policy has arrived.',
      }),
    ),
  },
  { description: 'A service offered at addresses and ports.' },
);

export type VirtualServiceSpec = Immutable<Static<typeof virtualServiceSchema>>;
export type Listener = Immutable<Static<typeof listenerSchema>>;
export type InlineRoute = Immutable<Static<typeof inlineRouteSchema>>;
/** An `Action`, or just `pool` on a TCP listener. */
export type DefaultAction = Immutable<Static<typeof defaultActionSchema>>;

/** How long a client connection may be idle, in milliseconds; 0 is for ever. */
export function listenerIdleTimeoutMs(listener: Listener): number {
  return durationMs(listener.idleTimeout ?? virtualServiceDefaults.listenerIdleTimeout);
}

export interface EffectiveVirtualService {
  readonly enabled: boolean;
  readonly policyFailMode: 'allow' | 'deny';
  readonly drainTimeoutMs: number;
}

/** The settings of the service as a whole with the defaults filled in. */
export function effectiveVirtualService(spec: VirtualServiceSpec): EffectiveVirtualService {
  return {
    enabled: spec.enabled ?? virtualServiceDefaults.enabled,
    policyFailMode: spec.policyFailMode ?? virtualServiceDefaults.policyFailMode,
    drainTimeoutMs: durationMs(spec.drainTimeout ?? virtualServiceDefaults.drainTimeout),
  };
}

/** Reasons of the conditions of a VirtualService. */
export const virtualServiceReasons = {
  Accepted: ['Accepted', 'Disabled', 'ListenerConflict', 'HostConflict', 'FleetMissing', 'InternalError'],
  ResolvedRefs: [
    'ResolvedRefs',
    'ReferenceMissing',
    'ReferenceNotAllowed',
    'ReferenceNotUsable',
    'Expired',
    'InternalError',
  ],
  Programmed: ['Programmed', 'Pending', 'NoProxies', 'RejectedByProxy', 'NotAccepted', 'Disabled', 'InternalError'],
} as const;

export function virtualServiceReferences(spec: VirtualServiceSpec, scope: string): readonly Reference[] {
  const fleet: readonly Reference[] =
    spec.fleet === undefined
      ? []
      : [{ field: '/spec/fleet', kind: 'Fleet', key: objectKey('Fleet', undefined, spec.fleet) }];
  return [...fleet, ...spec.listeners.flatMap((listener, i) => listenerReferences(listener, scope, i))];
}

function listenerReferences(listener: Listener, scope: string, index: number): readonly Reference[] {
  const at = pointerTo('spec', 'listeners', index);
  const { certificates = [], routes = [], defaultAction } = listener;
  return [
    ...certificates.map(
      (name, i): Reference => ({
        field: at + pointerTo('certificates', i),
        kind: 'Certificate',
        key: resolveRef(name, 'Certificate', scope),
      }),
    ),
    ...routes.flatMap((route, i) => ruleReferences(route.rules, scope, at + pointerTo('routes', i, 'rules'))),
    ...(defaultAction === undefined ? [] : defaultActionReferences(defaultAction, scope, `${at}/defaultAction`)),
  ];
}

function defaultActionReferences(action: DefaultAction, scope: string, field: string): readonly Reference[] {
  if (action.pool === undefined) return actionReferences(action, scope, field);
  return [{ field: `${field}/pool`, kind: 'BackendPool', key: resolveRef(action.pool, 'BackendPool', scope) }];
}
