import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { findLocalToken, readTokenFile } from '../lib/local-server.ts';
import { nearest } from '../lib/nearest.ts';
import { CliError, didYouMean, exitCodes, usageError } from './failure.ts';
import type { TlsFilesOfContext } from './https.ts';
import type { Io } from './io.ts';

/** Where the server is and who asks. */
export interface Context {
  /** Base URL of the REST API, without a slash at the end. */
  readonly server: string;
  /** Sent as bearer token. */
  readonly token: string | undefined;
  /** What the connection is made with; absent: what the machine trusts. */
  readonly tls?: TlsFilesOfContext;
  /** Scope of objects whose scope nobody named; undefined: `default`. */
  readonly scope: string | undefined;
  /** Where `server` comes from, for messages. */
  readonly origin: string;
}

/** Of an embedded server on this machine. */
export const defaultServer = 'http://127.0.0.1:7600';

export interface ContextFlags {
  readonly server?: string;
  readonly context?: string;
}

/** One entry of the context file. */
interface NamedContext {
  readonly server: string;
  readonly token?: string;
  /** Files; relative ones beside the context file. */
  readonly tokenFile?: string;
  readonly ca?: string;
  readonly clientCert?: string;
  readonly clientKey?: string;
  readonly scope?: string;
}

const fieldsOfContext = ['server', 'token', 'tokenFile', 'ca', 'clientCert', 'clientKey', 'scope'];

interface ContextFile {
  readonly current?: string;
  readonly contexts: Readonly<Record<string, NamedContext>>;
}

/** `FAIRWAY_CONTEXTS`, or `fairway/config.yaml` in the user's configuration folder. */
export function contextPath(env: Io['env']): string {
  if (env['FAIRWAY_CONTEXTS']) return env['FAIRWAY_CONTEXTS'];
  return join(env['XDG_CONFIG_HOME'] || join(env['HOME'] || homedir(), '.config'), 'fairway', 'config.yaml');
}

/**
 * Finds out where the server is. The first of these that says something: `--server`, `--context`, `FAIRWAY_SERVER`,
 * the current context of the file, this machine. A token of the file goes to the server of its own context only;
 * `FAIRWAY_TOKEN` goes to whichever server it is. To a server that this user runs on this machine goes its first token,
 * where no other is given.
 */
export async function resolveContext(flags: ContextFlags, env: Io['env']): Promise<Context> {
  const token = env['FAIRWAY_TOKEN'] || undefined;
  if (flags.server !== undefined) return at(flags.server, '--server', token, env);
  const path = contextPath(env);
  if (flags.context === undefined && env['FAIRWAY_SERVER']) {
    return at(env['FAIRWAY_SERVER'], 'FAIRWAY_SERVER', token, env);
  }
  const file = await readContextFile(path);
  const name = flags.context ?? file?.current;
  if (name === undefined) return at(defaultServer, 'default', token, env);
  const named = file !== undefined && Object.hasOwn(file.contexts, name) ? file.contexts[name] : undefined;
  if (named === undefined) {
    const known = Object.keys(file?.contexts ?? {});
    const hint = didYouMean(nearest(name, known)) ?? `It has ${known.length === 0 ? 'none' : known.join(', ')}.`;
    throw usageError(`There is no context "${name}" in ${path}`, hint);
  }
  const tls = tlsOf(named, path);
  const own =
    token ?? named.token ?? (named.tokenFile === undefined ? undefined : tokenIn(beside(path, named.tokenFile)));
  const origin = `context ${name}`;
  // Whoever shows a certificate has said who they are.
  const base = tls?.cert === undefined ? at(named.server, origin, own, env) : bare(named.server, origin, own);
  return { ...base, ...(tls === undefined ? {} : { tls }), scope: named.scope };
}

function tlsOf({ ca, clientCert, clientKey }: NamedContext, path: string): TlsFilesOfContext | undefined {
  if ((clientCert === undefined) !== (clientKey === undefined)) {
    throw usageError(`${path}: clientCert and clientKey go together`);
  }
  if (ca === undefined && clientCert === undefined) return undefined;
  return {
    ...(ca === undefined ? {} : { ca: beside(path, ca) }),
    ...(clientCert === undefined ? {} : { cert: beside(path, clientCert) }),
    ...(clientKey === undefined ? {} : { key: beside(path, clientKey) }),
  };
}

function beside(path: string, file: string): string {
  return resolve(dirname(path), file);
}

function tokenIn(file: string): string {
  const token = readTokenFile(file);
  if (token === undefined) throw new CliError(exitCodes.usage, `${file} cannot be read, or holds no token`);
  return token;
}

/** Of a server on this machine whose first token this user has, that token, unless another one was given. */
function at(server: string, origin: string, token: string | undefined, env: Io['env']): Context {
  const context = bare(server, origin, token);
  const { hostname, port, protocol } = new URL(context.server);
  if (token !== undefined || !/^(localhost|127\.[0-9.]+|\[::1\])$/.test(hostname)) return context;
  const number = port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
  return { ...context, token: findLocalToken(number, env) };
}

function bare(server: string, origin: string, token: string | undefined): Context {
  return { server: parseServer(server, origin), origin, token, scope: undefined };
}

/** `host`, `host:port` and URLs; anything else is refused. */
function parseServer(text: string, origin: string): string {
  const url = URL.parse(/^https?:\/\//.test(text) ? text : `http://${text}`);
  if (url === null || text.includes('://') !== /^https?:\/\//.test(text)) {
    throw usageError(`"${text}" (${origin}) is not the address of a server`, 'Write it as http://HOST:PORT.');
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw usageError(`The address of the server (${origin}) may have a host, a port and a path, nothing else`);
  }
  return `${url.protocol}//${url.host}${url.pathname}`.replace(/\/+$/, '');
}

async function readContextFile(path: string): Promise<ContextFile | undefined> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new CliError(exitCodes.usage, `${path} cannot be read: ${(error as Error).message}`, { cause: error });
  }
  const { parseDocument } = await import('yaml');
  const document = parseDocument(text, { prettyErrors: true });
  const fault = document.errors[0];
  if (fault !== undefined) throw usageError(`${path} is not valid YAML: ${fault.message.split('\n')[0]}`);
  return parseContextFile(document.toJS({ maxAliasCount: 0 }), path);
}

/** `{current, contexts: {NAME: {server, token, …}}}` and nothing else. */
function parseContextFile(value: unknown, path: string): ContextFile {
  const file = closed(value, ['current', 'contexts'], path, '');
  const contexts: Record<string, NamedContext> = {};
  const entries = file['contexts'] === undefined ? {} : record(file['contexts'], path, '/contexts');
  for (const [name, entry] of Object.entries(entries)) {
    const pointer = `/contexts/${name}`;
    const fields = closed(entry, fieldsOfContext, path, pointer);
    for (const field of fieldsOfContext) {
      const given = fields[field];
      if (given !== undefined && typeof given !== 'string')
        throw usageError(`${path}: ${pointer}/${field} must be text`);
    }
    if (fields['server'] === undefined) throw usageError(`${path}: ${pointer} names no server`);
    contexts[name] = fields as unknown as NamedContext;
  }
  const current = file['current'];
  if (current !== undefined && typeof current !== 'string') throw usageError(`${path}: /current must be text`);
  return { ...(current === undefined ? {} : { current }), contexts };
}

function record(value: unknown, path: string, pointer: string): Record<string, unknown> {
  if (value === null || value === undefined) return {};
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw usageError(`${path}: ${pointer || 'the file'} must be a map`);
  }
  return value as Record<string, unknown>;
}

function closed(value: unknown, fields: readonly string[], path: string, pointer: string): Record<string, unknown> {
  const given = record(value, path, pointer);
  for (const field of Object.keys(given)) {
    if (fields.includes(field)) continue;
    throw usageError(`${path}: there is no field ${pointer}/${field}`, didYouMean(nearest(field, fields)));
  }
  return given;
}
