import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import {
  RedirectAction_RedirectResponseCode,
  type RedirectActionSchema,
  type RetryPolicy,
  RetryPolicySchema,
  type Route,
  type RouteAction,
  type RouteAction_HashPolicy,
  RouteAction_HashPolicySchema,
  RouteActionSchema,
  RouteSchema,
} from '../gen/envoy/config/route/v3/route_components_pb.js';
import { PreviousHostsPredicateSchema } from '../gen/envoy/extensions/retry/host/previous_hosts/v3/previous_hosts_pb.js';
import type { Target } from '../graph/index.ts';
import {
  type Action,
  actionDefaults,
  actionTimeouts,
  effectiveRetry,
  type Match,
  type PathMatch,
  type PoolHash,
  type Redirect,
  type Respond,
  type Retry,
} from '../model/index.ts';
import { pack, type Write } from './encode.ts';
import { headersToAdd, headersToRemove } from './header-edits.ts';
import { pathRewrite, prefixRewrite } from './path-rewrite.ts';
import { routeMatch } from './route-match.ts';
import { shaped } from './shaped.ts';
import { trafficShares } from './traffic-shares.ts';

/** Route: one match of a rule, and what is done with the requests that it takes. */
export function route(name: string, match: Match, action: Action, { clusters, hashes }: Target): Write {
  const { forward: _pools, ...rest } = action;
  const shares = trafficShares(clusters);
  const shape: RouteShape = { match, action: rest, weights: shares.map(({ weight }) => weight), hashes };
  const names: RouteNames = { name, clusters: shares.map((share) => share.name) };
  return (to) => writeRoute(to, shape, names);
}

interface RouteShape {
  readonly match: Match;
  readonly action: Omit<Action, 'forward'>;
  /** Of the clusters. */
  readonly weights: readonly number[];
  readonly hashes: readonly PoolHash[];
}

interface RouteNames {
  readonly name: string;
  readonly clusters: readonly string[];
}

const writeRoute = shaped(RouteSchema, ({ match, action, weights, hashes }: RouteShape, names: RouteNames) => {
  const shares = names.clusters.map((name, at) => ({ name, weight: weights[at] ?? 0 }));
  return routeMessage(names.name, match, action, shares, hashes);
});

type Shares = ReturnType<typeof trafficShares>;

function routeMessage(
  name: string,
  match: Match,
  action: Omit<Action, 'forward'>,
  shares: Shares,
  hashes: readonly PoolHash[],
): Route {
  const { request, response } = action.headers ?? {};
  return create(RouteSchema, {
    name,
    match: routeMatch(match),
    action: routeOutcome(match.path, action, shares, hashes),
    requestHeadersToAdd: headersToAdd(request),
    requestHeadersToRemove: headersToRemove(request),
    responseHeadersToAdd: headersToAdd(response),
    responseHeadersToRemove: headersToRemove(response),
  });
}

function routeOutcome(path: PathMatch | undefined, action: Action, shares: Shares, hashes: readonly PoolHash[]) {
  if (action.redirect !== undefined) {
    return { case: 'redirect', value: redirectAction(path, action.redirect) } as const;
  }
  if (action.respond !== undefined) return { case: 'directResponse', value: directResponse(action.respond) } as const;
  // Pools that all have weight 0 get no traffic, and Envoy refuses such a route: the rule answers by itself.
  if (shares.length === 0) return { case: 'directResponse', value: directResponse({ status: 500 }) } as const;
  return { case: 'route', value: forwardAction(path, action, shares, hashes) } as const;
}

export function directResponse({ status, body }: Respond) {
  return {
    status,
    ...(body === undefined ? {} : { body: { specifier: { case: 'inlineString', value: body } } as const }),
  };
}

const redirectCodes = {
  301: RedirectAction_RedirectResponseCode.MOVED_PERMANENTLY,
  302: RedirectAction_RedirectResponseCode.FOUND,
  303: RedirectAction_RedirectResponseCode.SEE_OTHER,
  307: RedirectAction_RedirectResponseCode.TEMPORARY_REDIRECT,
  308: RedirectAction_RedirectResponseCode.PERMANENT_REDIRECT,
} as const;

function redirectAction(
  path: PathMatch | undefined,
  redirect: Redirect,
): MessageInitShape<typeof RedirectActionSchema> {
  return {
    responseCode: redirectCodes[redirect.code ?? actionDefaults.redirectCode],
    hostRedirect: redirect.host ?? '',
    portRedirect: redirect.port ?? 0,
    ...(redirect.scheme === undefined
      ? {}
      : { schemeRewriteSpecifier: { case: 'schemeRedirect', value: redirect.scheme } }),
    ...redirectPath(path, redirect),
  };
}

function redirectPath(path: PathMatch | undefined, redirect: Redirect): MessageInitShape<typeof RedirectActionSchema> {
  if (redirect.path !== undefined) return { pathRewriteSpecifier: { case: 'pathRedirect', value: redirect.path } };
  if (redirect.prefix === undefined) return {};
  const rewrite = prefixRewrite(path, redirect.prefix);
  return {
    pathRewriteSpecifier:
      'prefixRewrite' in rewrite
        ? { case: 'prefixRewrite', value: rewrite.prefixRewrite }
        : { case: 'regexRewrite', value: rewrite.regexRewrite },
  };
}

function forwardAction(
  path: PathMatch | undefined,
  action: Action,
  shares: Shares,
  hashes: readonly PoolHash[],
): RouteAction {
  const { timeoutMs, idleTimeoutMs } = actionTimeouts(action);
  const [only] = shares;
  return create(RouteActionSchema, {
    clusterSpecifier:
      shares.length === 1 && only !== undefined
        ? { case: 'cluster', value: only.name }
        : { case: 'weightedClusters', value: { clusters: shares } },
    // Both are always said: Envoy's own limits (15 s, and 5 min of its connection manager) would cut streams.
    timeout: durationFromMs(timeoutMs),
    idleTimeout: durationFromMs(idleTimeoutMs),
    ...(action.retry === undefined ? {} : { retryPolicy: retryPolicy(action.retry) }),
    ...pathRewrite(path, action.rewrite),
    ...(action.rewrite?.host === undefined
      ? {}
      : { hostRewriteSpecifier: { case: 'hostRewriteLiteral', value: action.rewrite.host } }),
    hashPolicy: hashes.map(hashPolicy),
    upgradeConfigs: action.websocket === true ? [{ upgradeType: 'websocket', enabled: true }] : [],
  });
}

function hashPolicy({ source, name = '' }: PoolHash): RouteAction_HashPolicy {
  return create(RouteAction_HashPolicySchema, { policySpecifier: hashSource(source, name) });
}

function hashSource(source: PoolHash['source'], name: string) {
  switch (source) {
    case 'sourceIp':
      return { case: 'connectionProperties', value: { sourceIp: true } } as const;
    case 'header':
      return { case: 'header', value: { headerName: name.toLowerCase() } } as const;
    case 'cookie':
      return { case: 'cookie', value: { name } } as const;
    case 'query':
      return { case: 'queryParameter', value: { name } } as const;
  }
}

/** Tries to find a member that was not tried yet, so often for each retry. */
const memberSelectionAttempts = 3n;

const otherMembersFirst = {
  name: 'envoy.retry_host_predicates.previous_hosts',
  configType: {
    case: 'typedConfig',
    value: pack(PreviousHostsPredicateSchema, create(PreviousHostsPredicateSchema)),
  },
} as const;

function retryPolicy(written: Retry): RetryPolicy {
  const retry = effectiveRetry(written);
  return create(RetryPolicySchema, {
    retryOn: [...retry.on].sort().join(','),
    numRetries: retry.attempts,
    ...(retry.perTryMs === undefined ? {} : { perTryTimeout: durationFromMs(retry.perTryMs) }),
    retryBackOff: {
      baseInterval: durationFromMs(retry.backoffBaseMs),
      maxInterval: durationFromMs(retry.backoffMaxMs),
    },
    retryHostPredicate: [otherMembersFirst],
    hostSelectionRetryMaxAttempts: memberSelectionAttempts,
  });
}
