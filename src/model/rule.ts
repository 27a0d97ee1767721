import { type Static, Type } from 'typebox';
import { pointerTo, type Reference, resolveRef } from './ref.ts';
import { Closed, Duration, durationMs, ExactlyOne, Hosts, type Immutable, Port, Ref, Text, TextMap } from './schema.ts';

/** HTTP rules: what a request must look like and what is done with it. Shared by VirtualService and Route. */

/** What holds where an action leaves a field out. */
export const actionDefaults = {
  weight: 1,
  timeout: '0s',
  idleTimeout: '1h',
  redirectCode: 302,
  retryAttempts: 1,
  retryBackoffBase: '25ms',
} as const;

const textMatch = {
  exact: Type.Optional(Text('fairway-text', { minLength: 1, maxLength: 1024, description: 'The whole value, as is.' })),
  prefix: Type.Optional(Text('fairway-text', { minLength: 1, maxLength: 1024, description: 'Start of the value.' })),
  regex: Type.Optional(
    Text('fairway-regex', { maxLength: 512, description: 'RE2 expression that must match the whole value.' }),
  ),
  present: Type.Optional(Type.Literal(true, { description: 'Any value, the empty one too.' })),
};
const textMatchChoices = ['exact', 'prefix', 'regex', 'present'] as const;

export const pathMatchSchema = ExactlyOne(
  {
    exact: Type.Optional(Text('fairway-path', { maxLength: 1024, description: 'The whole path.' })),
    prefix: Type.Optional(
      Text('fairway-path', {
        maxLength: 1024,
        description:
          'Start of the path, by whole segments: `/api` matches `/api` and `/api/x` but not `/apix`; `/api/` matches only what is below it; `/` matches all.',
      }),
    ),
    regex: Type.Optional(
      Text('fairway-regex', { maxLength: 512, description: 'RE2 expression that must match the whole path.' }),
    ),
  },
  { description: 'Path of the request, without its query. Exactly one of the fields.' },
);

export const headerMatchSchema = ExactlyOne(
  {
    name: Text('fairway-header-name', { description: 'Name of the header, in any case. For `host` use `hosts`.' }),
    ...textMatch,
    invert: Type.Optional(
      Type.Boolean({ default: false, description: 'Match when the rest does not, also when the header is absent.' }),
    ),
  },
  { choices: textMatchChoices, description: 'One header: its name and exactly one way to match its value.' },
);

export const queryMatchSchema = ExactlyOne(
  { name: Text('fairway-text', { minLength: 1, maxLength: 256, description: 'Name of the parameter.' }), ...textMatch },
  { choices: textMatchChoices, description: 'One query parameter: its name and exactly one way to match its value.' },
);

export const matchSchema = Closed(
  {
    path: Type.Optional(pathMatchSchema),
    methods: Type.Optional(
      Type.Array(Type.Enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']), {
        minItems: 1,
        maxItems: 8,
        uniqueItems: true,
        description: 'One of these methods; absent: any.',
      }),
    ),
    headers: Type.Optional(
      Type.Array(headerMatchSchema, { minItems: 1, maxItems: 16, description: 'All of these headers.' }),
    ),
    query: Type.Optional(
      Type.Array(queryMatchSchema, { minItems: 1, maxItems: 16, description: 'All of these query parameters.' }),
    ),
  },
  { description: 'Conditions on a request, all of which must hold.' },
);

export const forwardSchema = Closed({
  pool: Ref('BackendPool: a name in the same scope, or `scope/name` where that pool allows it.'),
  weight: Type.Optional(
    Type.Integer({
      // 32 targets of this weight stay far below the uint32 that Envoy keeps their sum in.
      minimum: 0,
      maximum: 1_000_000,
      default: actionDefaults.weight,
      description: 'Share of the requests, relative to the sum. 0: none. All 0: requests get 500.',
    }),
  ),
});

export const redirectSchema = Closed(
  {
    scheme: Type.Optional(Type.Enum(['http', 'https'], { description: 'New scheme; absent: as requested.' })),
    host: Type.Optional(Text('fairway-hostname', { description: 'New host; absent: as requested.' })),
    port: Type.Optional(Port('New port; absent: as requested.')),
    path: Type.Optional(
      Text('fairway-path', { maxLength: 1024, description: 'New path. Not together with `prefix`.' }),
    ),
    prefix: Type.Optional(
      Text('fairway-path', {
        maxLength: 1024,
        description: 'Replaces the matched prefix. Needs a `prefix` in each match. Not together with `path`.',
      }),
    ),
    code: Type.Optional(
      Type.Enum([301, 302, 303, 307, 308], {
        default: actionDefaults.redirectCode,
        description: 'Status of the answer.',
      }),
    ),
  },
  { description: 'Sends the client elsewhere. At least one of scheme, host, port, path and prefix.' },
);

export const respondSchema = Closed(
  {
    status: Type.Integer({ minimum: 200, maximum: 599, description: 'Status of the answer.' }),
    body: Type.Optional(
      Type.String({
        // Envoy refuses a direct response above max_direct_response_body_size_bytes, 4096 unless raised.
        'x-max-bytes': 4096,
        description: 'Body as it is sent, at most 4096 bytes of UTF-8.',
      }),
    ),
  },
  { description: 'Answers by itself, without a backend.' },
);

export const rewriteSchema = Closed(
  {
    host: Type.Optional(Text('fairway-hostname', { description: 'Host header that the backend gets.' })),
    path: Type.Optional(Text('fairway-path', { maxLength: 1024, description: 'The whole new path. The query stays.' })),
    prefix: Type.Optional(
      Text('fairway-path', {
        maxLength: 1024,
        description:
          'Replaces the matched prefix, segment by segment (`/api` to `/`: `/api/x` becomes `/x`). Needs a `prefix` in each match.',
      }),
    ),
    regex: Type.Optional(
      Closed({
        pattern: Text('fairway-regex', {
          maxLength: 512,
          description: 'RE2 expression; each occurrence in the path is replaced.',
        }),
        substitution: Text('fairway-text', {
          maxLength: 1024,
          description:
            'Replacement; `\\1` to `\\9` are the groups of the pattern, `\\0` all of it, `\\\\` a backslash.',
        }),
      }),
    ),
  },
  { description: 'Changes what the backend sees of the address. At most one of path, prefix and regex.' },
);

const headerValues = (description: string) =>
  Type.Optional(
    TextMap('fairway-edited-header', 'fairway-header-value', { maxProperties: 32, maxLength: 4096, description }),
  );

export const headerEditsSchema = Closed({
  set: headerValues('Replaces the header, or adds it. Values are literal text.'),
  add: headerValues('Adds a further value. Values are literal text.'),
  remove: Type.Optional(
    Type.Array(Text('fairway-edited-header'), { minItems: 1, maxItems: 32, description: 'Takes the header out.' }),
  ),
});

export const retrySchema = Closed(
  {
    on: Type.Array(
      Type.Enum([
        '5xx',
        'gateway-error',
        'connect-failure',
        'refused-stream',
        'reset',
        'reset-before-request',
        'retriable-4xx',
        'cancelled',
        'deadline-exceeded',
        'internal',
        'resource-exhausted',
        'unavailable',
      ]),
      {
        minItems: 1,
        maxItems: 12,
        uniqueItems: true,
        description: "When to try again, in Envoy's terms (`retry_on` and `retry_grpc_on`).",
      },
    ),
    attempts: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 10,
        default: actionDefaults.retryAttempts,
        description: 'Tries after the first one.',
      }),
    ),
    perTry: Type.Optional(
      Duration({
        min: '1ms',
        max: '1h',
        description: 'Limit of each try, the first one too; absent: only `timeout` counts.',
      }),
    ),
    backoff: Type.Optional(
      Closed({
        base: Type.Optional(
          Duration({
            min: '1ms',
            max: '1m',
            default: actionDefaults.retryBackoffBase,
            description: 'Mean wait before the first retry; it doubles each time, with jitter.',
          }),
        ),
        max: Type.Optional(
          Duration({
            min: '1ms',
            max: '10m',
            description: 'Longest wait; absent: ten times `base`. Not below `base`.',
          }),
        ),
      }),
    ),
  },
  { description: 'Tries a failed request again.' },
);

/** What is done with a request: the three ways, and what goes with them. */
export const actionProperties = {
  forward: Type.Optional(
    Type.Array(forwardSchema, { minItems: 1, maxItems: 32, description: 'Sends the request to one of these pools.' }),
  ),
  redirect: Type.Optional(redirectSchema),
  respond: Type.Optional(respondSchema),
  rewrite: Type.Optional(rewriteSchema),
  headers: Type.Optional(
    Closed(
      {
        request: Type.Optional(headerEditsSchema),
        response: Type.Optional(headerEditsSchema),
      },
      { description: 'Header changes: of the request (only with `forward`) and of the response.' },
    ),
  ),
  timeout: Type.Optional(
    Duration({
      min: '0s',
      max: '24h',
      default: actionDefaults.timeout,
      description:
        'Limit from the end of the request to the end of the response, all tries together. 0s: none, which streams (gRPC, events) need. Only with `forward`.',
    }),
  ),
  idleTimeout: Type.Optional(
    Duration({
      min: '0s',
      max: '24h',
      default: actionDefaults.idleTimeout,
      description: 'Ends a request on which nothing moved for so long. 0s: never. Only with `forward`.',
    }),
  ),
  retry: Type.Optional(retrySchema),
  websocket: Type.Optional(
    Type.Boolean({ default: false, description: 'Lets a request become a WebSocket. Only with `forward`.' }),
  ),
};
export const actionChoices = ['forward', 'redirect', 'respond'] as const;

export const actionSchema = ExactlyOne(actionProperties, {
  choices: actionChoices,
  description: 'What is done with the request: exactly one of forward, redirect and respond.',
});

export const ruleSchema = Closed({
  name: Text('fairway-name', { description: 'Name of the rule, unique in its list.' }),
  match: Type.Optional(
    Type.Array(matchSchema, {
      minItems: 1,
      maxItems: 32,
      description: 'The rule takes a request that one of these matches; absent: any request.',
    }),
  ),
  action: actionSchema,
});

export const routeProperties = {
  hosts: Hosts('Hosts that the rules are for; absent: all hosts of the listener.'),
  rules: Type.Array(ruleSchema, {
    minItems: 1,
    maxItems: 256,
    description:
      'HTTP rules. Order does not matter: exact path before regex before longer prefix, then method, more headers, more query parameters, older object, name.',
  }),
};

export type PathMatch = Immutable<Static<typeof pathMatchSchema>>;
export type HeaderMatch = Immutable<Static<typeof headerMatchSchema>>;
export type QueryMatch = Immutable<Static<typeof queryMatchSchema>>;
export type Match = Immutable<Static<typeof matchSchema>>;
export type Forward = Immutable<Static<typeof forwardSchema>>;
export type Redirect = Immutable<Static<typeof redirectSchema>>;
export type Respond = Immutable<Static<typeof respondSchema>>;
export type Rewrite = Immutable<Static<typeof rewriteSchema>>;
export type HeaderEdits = Immutable<Static<typeof headerEditsSchema>>;
export type Retry = Immutable<Static<typeof retrySchema>>;
/** Exactly one of `forward`, `redirect` and `respond` is set. */
export type Action = Immutable<Static<typeof actionSchema>>;
export type Rule = Immutable<Static<typeof ruleSchema>>;

/** Time limits of a forwarding action with the defaults filled in; 0 is "no limit". */
export function actionTimeouts(action: Action): { readonly timeoutMs: number; readonly idleTimeoutMs: number } {
  return {
    timeoutMs: durationMs(action.timeout ?? actionDefaults.timeout),
    idleTimeoutMs: durationMs(action.idleTimeout ?? actionDefaults.idleTimeout),
  };
}

export interface EffectiveRetry {
  readonly on: Retry['on'];
  readonly attempts: number;
  readonly perTryMs: number | undefined;
  readonly backoffBaseMs: number;
  readonly backoffMaxMs: number;
}

export function effectiveRetry(retry: Retry): EffectiveRetry {
  const backoffBaseMs = durationMs(retry.backoff?.base ?? actionDefaults.retryBackoffBase);
  return {
    on: retry.on,
    attempts: retry.attempts ?? actionDefaults.retryAttempts,
    perTryMs: retry.perTry === undefined ? undefined : durationMs(retry.perTry),
    backoffBaseMs,
    backoffMaxMs: retry.backoff?.max === undefined ? backoffBaseMs * 10 : durationMs(retry.backoff.max),
  };
}

/** The pools that an action at `field` forwards to. */
export function actionReferences(action: Action, scope: string, field: string): readonly Reference[] {
  return (action.forward ?? []).map(({ pool }, i) => ({
    field: field + pointerTo('forward', i, 'pool'),
    kind: 'BackendPool',
    key: resolveRef(pool, 'BackendPool', scope),
  }));
}

/** The pools that the rules at `field` forward to. */
export function ruleReferences(rules: readonly Rule[], scope: string, field: string): readonly Reference[] {
  return rules.flatMap((rule, i) => actionReferences(rule.action, scope, field + pointerTo(i, 'action')));
}
