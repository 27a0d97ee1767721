import type { FieldError } from '../lib/errors.ts';
import { type Kind, namesOfKinds } from '../model/kind.ts';
import type { Context } from './context.ts';
import { CliError, type ExitCode, exitCodes } from './failure.ts';
import { readLines } from './lines.ts';

/** A problem document (RFC 9457) as a server sends it. */
export interface Problem {
  readonly title?: string;
  readonly detail?: string;
  readonly status: number;
  readonly code?: string;
  readonly errors?: readonly FieldError[];
  readonly requestId?: string;
  readonly [member: string]: unknown;
}

/** A refusal of the server. */
export class ProblemError extends CliError {
  readonly problem: Problem;

  constructor(message: string, exitCode: ExitCode, problem: Problem, hint = adviceOn(problem)) {
    const details = (problem.errors ?? []).map(({ pointer, message }) =>
      pointer === '' ? message : `${pointer} ${message}`,
    );
    super(exitCode, message, { details, hint, requestId: problem.requestId });
    this.problem = problem;
  }
}

/** What to do, in words of the command line: the server speaks of its parameters. */
function adviceOn({ code, removals }: Problem): string | undefined {
  switch (code) {
    case 'TooLarge':
      return 'With --no-atomic any number of objects can be applied, each by itself.';
    case 'MassRemoval':
      return `Look at it with "fairway diff"; --confirm-removals ${removals ?? 'NUMBER'} does it all the same.`;
    case 'StoreNotEmpty':
      return 'With --force everything in it is replaced all the same; make a backup of it first.';
    case 'StillReferenced':
      return 'With --force it is deleted all the same.';
    default:
      return undefined;
  }
}

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface RequestOptions {
  readonly query?: Query;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** How long the whole answer may take; absent: as the client was told. */
  readonly timeoutMs?: number;
}

export interface Upload {
  readonly contentType: string;
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** Talks to the REST API of one server. Every failure is a `CliError` with the exit code that it means. */
export interface Client {
  readonly server: string;
  /** The body of a 2xx answer, read as JSON. */
  request(method: string, path: string, options?: RequestOptions): Promise<unknown>;
  /** An answer whatever its status, read as text; fails only when there is none. */
  probe(path: string, options?: RequestOptions): Promise<{ readonly status: number; readonly text: string }>;
  /** The bytes of an answer, as they come. */
  download(path: string, options?: RequestOptions): AsyncIterable<Uint8Array>;
  /** Sends bytes as they come, however long it takes. The body of a 2xx answer, read as JSON. */
  upload(path: string, upload: Upload, options?: RequestOptions): Promise<unknown>;
  /** The lines of an NDJSON answer, for as long as the server sends them. */
  stream(path: string, options?: RequestOptions): AsyncIterable<unknown>;
}

/** A server answers within milliseconds; a large atomic apply within a second. */
const requestTimeoutMs = 30_000;

export interface ClientOptions {
  readonly userAgent: string;
  /** How long a whole answer may take when a request does not say. */
  readonly timeoutMs?: number;
}

export function createClient(context: Context, options: ClientOptions): Client {
  const { userAgent, timeoutMs = requestTimeoutMs } = options;
  let secureFetch: Promise<typeof fetch> | undefined;
  const fetcher = (): Promise<typeof fetch> | typeof fetch => {
    const { tls } = context;
    if (tls === undefined) return fetch;
    secureFetch ??= import('./https.ts').then(({ createSecureFetch }) => createSecureFetch(tls));
    return secureFetch;
  };
  const send = async (method: string, path: string, options: RequestOptions, signal: AbortSignal, upload?: Upload) => {
    const { query = {}, body, headers = {} } = options;
    const url = new URL(`${context.server}${path}`);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    try {
      const ask = await fetcher();
      return await ask(url, {
        method,
        signal,
        // An answer from elsewhere is not the server's, and the token is not for others.
        redirect: 'error',
        headers: {
          accept: 'application/json',
          'user-agent': userAgent,
          ...(context.token === undefined ? {} : { authorization: `Bearer ${context.token}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(upload === undefined ? {} : { 'content-type': upload.contentType }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        // An answer may come before all was sent; Node knows no other way than to wait for that.
        ...(upload === undefined ? {} : { body: ReadableStream.from(upload.bytes), duplex: 'half' as const }),
      });
    } catch (error) {
      throw error instanceof CliError ? error : unreachable(context, error);
    }
  };
  const whole = async (method: string, path: string, options: RequestOptions) => {
    const deadline = AbortSignal.timeout(options.timeoutMs ?? timeoutMs);
    const signal = options.signal === undefined ? deadline : AbortSignal.any([options.signal, deadline]);
    const answer = await send(method, path, options, signal);
    try {
      return { answer, text: await answer.text() };
    } catch (error) {
      throw unreachable(context, error);
    }
  };
  return {
    server: context.server,
    async request(method, path, options = {}) {
      const { answer, text } = await whole(method, path, options);
      if (!answer.ok) throw refusal(context, answer, text);
      if (text === '') return undefined;
      const value = parseJson(text);
      if (value === undefined) throw notFairway(context, answer.status);
      return value;
    },
    async probe(path, options = {}) {
      const { answer, text } = await whole('GET', path, options);
      return { status: answer.status, text };
    },
    async *download(path, options = {}) {
      const signal = options.signal ?? new AbortController().signal;
      const answer = await send('GET', path, { headers: { accept: '*/*' }, ...options }, signal);
      if (!answer.ok) throw refusal(context, answer, await answer.text());
      try {
        if (answer.body !== null) yield* answer.body;
      } catch (error) {
        throw unreachable(context, error);
      }
    },
    async upload(path, upload, options = {}) {
      const signal = options.signal ?? new AbortController().signal;
      const answer = await send('POST', path, options, signal, upload);
      const text = await answer.text().catch((error: unknown) => {
        throw unreachable(context, error);
      });
      if (!answer.ok) throw refusal(context, answer, text);
      return parseJson(text) ?? {};
    },
    async *stream(path, options = {}) {
      const signal = options.signal ?? new AbortController().signal;
      const answer = await send('GET', path, { headers: { accept: 'application/x-ndjson' }, ...options }, signal);
      if (!answer.ok) throw refusal(context, answer, await answer.text());
      if (answer.body === null) return;
      try {
        for await (const line of readLines(answer.body)) {
          const value = parseJson(line);
          if (value === undefined) throw notFairway(context, answer.status);
          yield value;
        }
      } catch (error) {
        throw error instanceof CliError ? error : unreachable(context, error);
      }
    },
  };
}

/** `/v1/virtual-services`. */
export function kindPath(kind: Kind): string {
  return `/v1/${namesOfKinds[kind].plural}`;
}

/** Path of one object. `scope` counts for kinds that have one. */
export function objectPath(kind: Kind, scope: string, name: string): string {
  const { plural, global } = namesOfKinds[kind];
  const place = global ? '' : `/scopes/${encodeURIComponent(scope)}`;
  return `/v1${place}/${plural}/${encodeURIComponent(name)}`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function refusal(context: Context, answer: Response, text: string): CliError {
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null || !('title' in value || 'code' in value)) {
    return notFairway(context, answer.status);
  }
  const problem = { ...value, status: answer.status } as Problem;
  const message = problem.detail ?? problem.title ?? `status ${answer.status}`;
  if (answer.status === 401) {
    const hint =
      context.token === undefined
        ? 'No token was sent: set FAIRWAY_TOKEN, or name one in the context file.'
        : 'The token was not accepted.';
    return new CliError(exitCodes.refused, message, { hint });
  }
  return new ProblemError(message, exitCodeOf(answer.status), problem);
}

function exitCodeOf(status: number): ExitCode {
  if (status === 503) return exitCodes.unreachable;
  return status === 504 ? exitCodes.timeout : exitCodes.refused;
}

function notFairway(context: Context, status: number): CliError {
  return new CliError(
    exitCodes.unreachable,
    `${context.server} answered with status ${status}, but not as a Fairway server does`,
    { hint: whereFrom(context) },
  );
}

/** Words for what stands in the cause of `fetch failed`. */
const networkFaults: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'the connection was reset',
  UND_ERR_SOCKET: 'the connection was closed',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'the name could not be resolved',
  EHOSTUNREACH: 'there is no way to the host',
  ENETUNREACH: 'there is no way to its network',
  ETIMEDOUT: 'no answer came',
  UND_ERR_CONNECT_TIMEOUT: 'no answer came',
};

function unreachable(context: Context, error: unknown): CliError {
  if (error instanceof DOMException && error.name === 'TimeoutError') {
    return new CliError(exitCodes.timeout, `${context.server} did not answer in time`, { cause: error });
  }
  const cause = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error ? String((cause as NodeJS.ErrnoException).code ?? '') : '';
  const why = networkFaults[code] ?? (cause instanceof Error ? cause.message : String(error));
  return new CliError(exitCodes.unreachable, `No server can be reached at ${context.server}: ${why}`, {
    cause: error,
    hint: whereFrom(context),
  });
}

function whereFrom(context: Context): string {
  return context.origin === 'default'
    ? 'Start one with "fairway server", or say where it is with --server, FAIRWAY_SERVER or a context.'
    : `The address comes from ${context.origin}.`;
}
