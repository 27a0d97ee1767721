/** What the exit code of a command means. Documented in the README; `diff` alone uses 1 for "there is a difference". */
export const exitCodes = {
  ok: 0,
  /** The server, or the objects, said no. */
  refused: 1,
  /** The command line, a manifest or the context file cannot be used as it is. */
  usage: 2,
  /** No server answered, or it is not ready. */
  unreachable: 3,
  /** What was waited for did not come in time. */
  timeout: 4,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** An expected end of a command that is not success. The message is one line; `details` are printed below it. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: ExitCode;
  readonly details: readonly string[];
  /** What to do about it. */
  readonly hint: string | undefined;
  /** By which the server's logs know the request that failed. */
  readonly requestId: string | undefined;

  constructor(
    exitCode: ExitCode,
    message: string,
    options: {
      details?: readonly string[];
      hint?: string | undefined;
      requestId?: string | undefined;
      cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.exitCode = exitCode;
    this.details = options.details ?? [];
    this.hint = options.hint;
    this.requestId = options.requestId;
  }
}

export function usageError(message: string, hint?: string): CliError {
  return new CliError(exitCodes.usage, message, { hint });
}

/** `Did you mean "vs"?`, or nothing when there is no near miss. */
export function didYouMean(near: string | undefined): string | undefined {
  return near === undefined ? undefined : `Did you mean "${near}"?`;
}
