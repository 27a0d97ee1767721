import { type ErrorCode, errorCodes, FairwayError, type FieldError } from '../lib/errors.ts';

/** Problem documents (RFC 9457): the one form of every refusal and failure. */

export const problemMediaType = 'application/problem+json';

export interface Problem {
  /** Names the kind of problem; the same for all of one code. Nothing need be found there. */
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: ErrorCode;
  readonly errors?: readonly FieldError[];
  readonly requestId?: string;
  /** Further members of the code, for instance `current` of a Conflict. */
  readonly [member: string]: unknown;
}

/** The document of an error. Its own members win over those that the error brings. */
export function problemOf(error: FairwayError, requestId?: string): Problem {
  const { http, title } = errorCodes[error.code];
  return {
    ...error.extra,
    type: `urn:fairway:problem:${error.code}`,
    title,
    status: http,
    detail: conceal(error.message),
    code: error.code,
    ...(error.errors.length > 0 && { errors: error.errors.map(concealFault) }),
    ...(requestId !== undefined && { requestId }),
  };
}

/** A PEM block, or a line of its base64: longer than any name, of upper and lower case letters and digits. */
const keyMaterial =
  /-----BEGIN [\s\S]*?(?:-----END [A-Z0-9 ]*-----|$)|(?<![A-Za-z0-9+/])(?=[\s\S]{0,63}[A-Z])(?=[\s\S]{0,63}[a-z])(?=[\s\S]{0,63}[0-9])[A-Za-z0-9+][A-Za-z0-9+/]{63,}={0,2}/g;

/**
 * Messages repeat what was sent where that helps: a name, a tag, the name of an unknown field. A key that was pasted
 * into such a place is left out here, once for all of them.
 */
function conceal(text: string): string {
  return text.replace(keyMaterial, '[redacted]');
}

function concealFault({ pointer, message }: FieldError): FieldError {
  return { pointer: conceal(pointer), message: conceal(message) };
}

/**
 * The error as one of the table. What is not a `FairwayError` and not a refusal of the HTTP framework becomes
 * `Internal` with a fixed text: the words of an unexpected error may hold a path or a secret.
 *
 * `bodyLimit` is the limit that held for the request, in bytes.
 */
export function fairwayErrorOf(error: unknown, bodyLimit?: number): FairwayError {
  if (error instanceof FairwayError) return error;
  return (
    frameworkRefusal(error, bodyLimit) ?? new FairwayError('Internal', 'answering the request failed', { cause: error })
  );
}

/** Refusals of fastify and of Node's HTTP parser, by their codes. */
function frameworkRefusal(error: unknown, bodyLimit: number | undefined): FairwayError | undefined {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return undefined;
  const cause = { cause: error };
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return bodyTooLarge(bodyLimit, error);
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_INVALID_TYPE':
    case 'FST_ERR_CTP_EMPTY_TYPE':
    case 'FST_ERR_ROUTE_MISSING_CONTENT_TYPE':
      return new FairwayError('UnsupportedMediaType', `reading the body: ${mediaTypeAdvice}`, cause);
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new FairwayError('MalformedBody', 'reading the body: it is not as long as Content-Length says', cause);
    case 'FST_ERR_BAD_URL':
      return new FairwayError('InvalidParameter', 'reading the address: its percent-encoding is not valid', cause);
    case 'HPE_HEADER_OVERFLOW':
      return new FairwayError('TooLarge', 'reading the request: its headers are larger than 16 KiB', cause);
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new FairwayError('MalformedBody', 'reading the request: it did not arrive in time', cause);
    default:
      // One that a later version of the framework has: the fault is the client's all the same.
      return error.code.startsWith('FST_') && isClientFault(error)
        ? new FairwayError('MalformedBody', 'reading the request: it cannot be taken as it is', cause)
        : undefined;
  }
}

function isClientFault(error: Error): boolean {
  const status = 'statusCode' in error ? Number(error.statusCode) : 0;
  return status >= 400 && status < 500;
}

/** What may be sent, in words for whoever sent something else. */
export const mediaTypeAdvice =
  'send it with Content-Type application/json or application/yaml, and a patch as application/merge-patch+json';

function bodyTooLarge(bodyLimit: number | undefined, cause: unknown): FairwayError {
  const limit = bodyLimit === undefined ? '' : ` of ${bodyLimit} bytes`;
  return new FairwayError('TooLarge', `reading the body: it is over the limit bodyBytes${limit}`, {
    cause,
    extra: { limit: 'bodyBytes', ...(bodyLimit !== undefined && { maximum: bodyLimit }) },
  });
}
