/**
 * The one table of error codes. REST problem documents, gRPC statuses and the README are all made from it
 * (a test in test/arch holds table and README together, both ways).
 *
 * `http` and `grpc` are the statuses a client sees, `retryable` says whether the same request may succeed later
 * without anybody changing anything.
 */
export const errorCodes = {
  InvalidObject: { http: 422, grpc: 3, retryable: false, title: 'The object is not valid' },
  InvalidBackup: { http: 422, grpc: 3, retryable: false, title: 'The backup cannot be used' },
  MalformedBody: { http: 400, grpc: 3, retryable: false, title: 'The body could not be read' },
  InvalidParameter: { http: 400, grpc: 3, retryable: false, title: 'A parameter of the request is not valid' },
  Unauthenticated: { http: 401, grpc: 16, retryable: false, title: 'Who asks is not known' },
  Forbidden: { http: 403, grpc: 7, retryable: false, title: 'Who asks may not do this' },
  NotFound: { http: 404, grpc: 5, retryable: false, title: 'There is no such object' },
  MethodNotAllowed: { http: 405, grpc: 12, retryable: false, title: 'The resource has no such method' },
  Conflict: { http: 409, grpc: 10, retryable: false, title: 'The object was changed by somebody else' },
  StillReferenced: { http: 409, grpc: 9, retryable: false, title: 'Other objects refer to this one' },
  MassRemoval: { http: 409, grpc: 9, retryable: false, title: 'The write would remove much of a fleet' },
  StoreNotEmpty: { http: 409, grpc: 9, retryable: false, title: 'The store holds something already' },
  ReadOnly: { http: 409, grpc: 9, retryable: false, title: 'The object is managed by another source' },
  LastAdmin: { http: 409, grpc: 9, retryable: false, title: 'Nobody could do everything any more' },
  RevisionCompacted: { http: 410, grpc: 11, retryable: false, title: 'The revision is no longer kept' },
  TooLarge: { http: 413, grpc: 8, retryable: false, title: 'A size limit is exceeded' },
  UnsupportedMediaType: { http: 415, grpc: 3, retryable: false, title: 'The media type is not supported' },
  TooManyRequests: { http: 429, grpc: 8, retryable: true, title: 'Too many requests' },
  Internal: { http: 500, grpc: 13, retryable: false, title: 'An internal error happened' },
  StoreUnavailable: { http: 503, grpc: 14, retryable: true, title: 'The store cannot take writes now' },
  NotReady: { http: 503, grpc: 14, retryable: true, title: 'The server is not ready yet' },
  RevisionTimeout: { http: 504, grpc: 4, retryable: true, title: 'The revision was not reached in time' },
} as const satisfies Record<string, { http: number; grpc: number; retryable: boolean; title: string }>;

export type ErrorCode = keyof typeof errorCodes;

/** One thing that is wrong with an input. `pointer` is a JSON pointer (RFC 6901) into it, `''` for the whole. */
export interface FieldError {
  readonly pointer: string;
  readonly message: string;
}

/**
 * An expected failure at an edge. The message begins with what was being done and never holds a secret, a file path
 * or a stack.
 */
export class FairwayError extends Error {
  override readonly name = 'FairwayError';
  readonly code: ErrorCode;
  readonly errors: readonly FieldError[];
  /** Further members of the problem document, for instance `current` of a Conflict. */
  readonly extra: Readonly<Record<string, unknown>>;

  constructor(
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; errors?: readonly FieldError[]; extra?: Readonly<Record<string, unknown>> } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.errors = options.errors ?? [];
    this.extra = options.extra ?? {};
  }
}

/** A bug: something that cannot be when the code is right. Caught by the frame alone. */
export class InvariantError extends Error {
  override readonly name = 'InvariantError';
}
