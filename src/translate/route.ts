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
  type RouteMatch,
  RouteSchema,
} from '../gen/envoy/config/route/v3/route_components_pb.js';
import { PreviousHostsPredicateSchema } from '../gen/envoy/extensions/retry/host/previous_hosts/v3/previous_hosts_pb.js';
import type { Target } from '../graph/index.ts';
import {
  type Action,
  actionDefaults,
  actionTimeouts,
  effectiveRetry,
  type PathMatch,
  type PoolHash,
  type Redirect,
  type Respond,
  type Retry,
} from '../model/index.ts';
import { pack } from './encode.ts';
import { headersToAdd, headersToRemove } from './header-edits.ts';
import { pathRewrite, prefixRewrite } from './path-rewrite.ts';
import { trafficShares } from './traffic-shares.ts';

/** Route: one match of a rule, and what is done with the requests that it takes. */
export function route(
  name: string,
  match: RouteMatch,
  path: PathMatch | undefined,
  action: Action,
  target: Target,
): Route {
  const { request, response } = action.headers ?? {};
  return create(RouteSchema, {
    name,
    match,
    action: routeOutcome(path, action, target),
    requestHeadersToAdd: headersToAdd(request),
    requestHeadersToRemove: headersToRemove(request),
    responseHeadersToAdd: headersToAdd(response),
    responseHeadersToRemove: headersToRemove(response),
  });
}

function routeOutcome(path: PathMatch | undefined, action: Action, target: Target) {
  if (action.redirect !== undefined) {
    return { case: 'redirect', value: redirectAction(path, action.redirect) } as const;
  }
  if (action.respond !== undefined) return { case: 'directResponse', value: directResponse(action.respond) } as const;
  const shares = trafficShares(target.clusters);
  // Pools that all have weight 0 get no traffic, and Envoy refuses such a route: the rule answers by itself.
  if (shares.length === 0) return { case: 'directResponse', value: directResponse({ status: 500 }) } as const;
  return { case: 'route', value: forwardAction(path, action, target, shares) } as const;
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
  target: Target,
  shares: ReturnType<typeof trafficShares>,
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
    hashPolicy: target.hashes.map(hashPolicy),
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
