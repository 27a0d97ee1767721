import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino';

export type { Logger } from 'pino';

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';

/** Credentials in the headers of a request. */
const secretPaths = ['req.headers.authorization', 'headers.authorization'];

/**
 * A private key in a finished line, wherever it stands in it: in an object however deep, or in the words of an error.
 * One that was cut off has no end; quotes are none of its characters.
 */
const privateKey =
  /-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?:(?!-----END )[^"])*(?:-----END [A-Z0-9 ]*PRIVATE KEY-----)?/g;

function withoutKeys(line: string): string {
  return line.includes('PRIVATE KEY-----') ? line.replace(privateKey, '[redacted]') : line;
}

/**
 * One line of JSON per event on `destination` (standard error by default): `event` is a constant name, facts stand in
 * fields. Rooms take a child with their name. Key material is never printed, not even by mistake.
 */
export function createLogger(options: { level: LogLevel; destination?: DestinationStream }): Logger {
  const settings: LoggerOptions = {
    level: options.level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    messageKey: 'message',
    redact: { paths: secretPaths, censor: '[redacted]' },
    serializers: { err: pino.stdSerializers.err },
    hooks: { streamWrite: withoutKeys },
  };
  return pino(settings, options.destination ?? pino.destination({ dest: 2, sync: true }));
}
