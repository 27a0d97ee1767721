/**
 * The part of the REST API that a node uses to become a member and to stay one. It knows no tokens of operators, and
 * trusts nobody but the authority that its join token, or its present certificate, comes from.
 */
import { X509Certificate } from 'node:crypto';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP } from 'node:net';
import { checkServerIdentity, getCACertificates, type PeerCertificate } from 'node:tls';
import { answerTo } from '../../lib/bounded-answer.ts';
import { FairwayError } from '../../lib/errors.ts';
import { canonicalIp } from '../../lib/ip.ts';
import { certificatePin, type JoinToken } from '../../lib/join-token.ts';
import { readPem } from '../../lib/pem.ts';
import { controllerUri } from '../../lib/spiffe-id.ts';
import { subjectAltNames } from '../../lib/x509.ts';
import type { MembershipGrant } from '../../model/index.ts';
import type { Problem } from '../client.ts';
import { CliError, exitCodes } from '../failure.ts';

/** What the server gives to a node, as it answers. */
export interface Grant extends Omit<MembershipGrant, 'revision'> {
  /** Of the fleet; absent: it did not exist. */
  readonly drainTimeout?: string;
  /** xDS addresses of all controllers; absent: the server is of an earlier version. */
  readonly controllers?: readonly string[];
}

/** Whom to trust: roots in PEM, and the installation that controllers are of. */
export interface Trust {
  readonly trustDomain: string;
  readonly ca: string;
}

/** Where the REST API is. */
export interface RestServer {
  /** Base URL. */
  readonly url: string;
  /** PEM: a CA whose certificates for the host of that address are good, besides those that the machine trusts. */
  readonly ca?: string | undefined;
}

/** A refusal that will not become another answer by asking again. */
export class MembershipRefused extends CliError {
  constructor(message: string, requestId: string | undefined) {
    super(exitCodes.refused, message, { requestId });
  }
}

/** Whoever answers is not of the installation: nothing was told to it. */
export class UntrustedServer extends CliError {}

const timeoutMs = 15_000;
/** Of an answer: two certificates and some names. */
const maxAnswerBytes = 256 * 1024;

/**
 * Whom the token says that nodes are to trust, as the server has it. Nothing secret is sent before, and nothing else that it
 * says is believed: whoever is in between could add an authority of their own to what everybody may know.
 */
export async function fetchTrust(server: RestServer, token: JoinToken): Promise<Trust> {
  const answer = (await call(server, 'GET', '/v1/ca', undefined, undefined)) as {
    readonly trustDomain: string;
    readonly certificates: string;
  };
  return { trustDomain: String(answer.trustDomain), ca: pinnedIn(String(answer.certificates), token) };
}

export async function join(
  server: RestServer,
  asked: { readonly token: string; readonly request: string; readonly node?: string; readonly fleet?: string },
  trust: Trust,
): Promise<Grant> {
  return (await call(server, 'POST', '/v1/join', asked, trust)) as Grant;
}

export async function renew(
  server: RestServer,
  asked: { readonly certificate: string; readonly request: string; readonly proof: string },
  trust: Trust,
): Promise<Grant> {
  return (await call(server, 'POST', '/v1/renew', asked, trust)) as Grant;
}

/** The root that the token names, PEM. Throws unless it is among those given. */
export function pinnedIn(ca: string, { pin }: JoinToken): string {
  const blocks = readPem(ca);
  const roots = blocks.ok ? blocks.value.map(({ text }) => text) : [];
  const pinned = roots.find((text) => certificatePin(new X509Certificate(text).raw) === pin);
  if (pinned !== undefined) return pinned;
  throw new CliError(exitCodes.refused, 'The server has another authority than the token is for', {
    hint: 'Either it is another installation, or its root was replaced since: make a new token.',
  });
}

/** Without `trust`, whoever answers is listened to: for what is checked by other means. */
async function call(
  server: RestServer,
  method: string,
  path: string,
  body: unknown,
  trust: Trust | undefined,
): Promise<unknown> {
  const url = new URL(`${server.url}${path}`);
  const text = body === undefined ? undefined : JSON.stringify(body);
  const options = {
    method,
    agent: false,
    headers: {
      accept: 'application/json',
      ...(text === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
    },
    signal: AbortSignal.timeout(timeoutMs),
  };
  const asked =
    url.protocol === 'https:'
      ? requestHttps(url, { ...options, ...tlsOptions(server, trust) })
      : requestHttp(url, options);
  const answer = await answerTo(asked, { body: text, maxBytes: maxAnswerBytes }).catch((cause: Error) => {
    throw unanswered(server.url, cause);
  });
  return read(server.url, answer.status, answer.text);
}

function unanswered(server: string, cause: Error): CliError {
  const { code } = cause as NodeJS.ErrnoException;
  if (code !== undefined && isVerificationFault(code)) {
    const words = `${server} shows no certificate of this installation: ${code}`;
    return new UntrustedServer(exitCodes.refused, words, { cause });
  }
  const said = cause instanceof FairwayError ? cause.message : (code ?? cause.message);
  const why = cause.name === 'TimeoutError' ? 'no answer came in time' : said;
  return new CliError(exitCodes.unreachable, `${server} cannot be reached: ${why}`, { cause });
}

/**
 * A server may show a certificate of the authority itself, which is good whatever address it is reached by, or one of
 * somebody whom this machine trusts, which must be for the host of the address.
 */
function tlsOptions(server: RestServer, trust: Trust | undefined) {
  if (trust === undefined) return { rejectUnauthorized: false } as const;
  return {
    minVersion: 'TLSv1.2' as const,
    ca: [trust.ca, ...(server.ca === undefined ? [] : [server.ca]), ...getCACertificates('default')],
    checkServerIdentity(host: string, certificate: PeerCertificate): Error | undefined {
      const isController = subjectAltNames(certificate.subjectaltname).includes(
        `URI:${controllerUri(trust.trustDomain)}`,
      );
      return isController ? undefined : checkServerIdentity(host, certificate);
    },
  };
}

/** Codes of OpenSSL's checks of a certificate, and of Node's of the host name. */
function isVerificationFault(code: string): boolean {
  return /^ERR_TLS_CERT|CERT|UNABLE_TO_|INVALID_(?:CA|PURPOSE)|PATH_LENGTH/.test(code);
}

function read(server: string, status: number, text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (typeof value !== 'object' || value === null) {
    throw new CliError(
      exitCodes.unreachable,
      `${server} answered with status ${status}, but not as a Fairway server does`,
    );
  }
  if (status >= 200 && status < 300) return value;
  const problem = value as Partial<Problem>;
  const message = problem.detail ?? problem.title ?? `status ${status}`;
  if (status >= 400 && status < 500 && status !== 409 && status !== 429) {
    throw new MembershipRefused(message, problem.requestId);
  }
  throw new CliError(exitCodes.unreachable, message, { requestId: problem.requestId });
}

/** Whether an address means this machine, so that nobody can listen. */
export function isLoopbackServer(server: string): boolean {
  const host = new URL(server).hostname.replace(/^\[|\]$/g, '');
  if (host === 'localhost') return true;
  const address = isIP(host) === 0 ? undefined : canonicalIp(host);
  return address === '::1' || address?.startsWith('127.') === true;
}
