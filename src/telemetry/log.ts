import { type DestinationStream, type LogFn, type Logger, type LoggerOptions, pino } from 'pino';

import type { EventName } from './event-names.ts';

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

type Arguments = Parameters<LogFn>;

/** Gives a name to what libraries say by themselves: they know nothing of ours. */
function withEvent(given: Arguments): Arguments {
  const [facts, ...words] = given as readonly unknown[];
  const event: EventName = 'library_note';
  if (typeof facts !== 'object' || facts === null) return [{ event }, facts, ...words] as unknown as Arguments;
  if ('event' in facts) return given;
  return [facts instanceof Error ? { event, err: facts } : { event, ...facts }, ...words] as unknown as Arguments;
}

/**
 * One line of JSON per event on `destination` (standard error by default): `event` is a constant name of
 * event-names.ts, facts stand in fields. Rooms take a child with their name. Key material is never printed, not even by mistake.
 */
export function createLogger(options: { level: LogLevel; destination?: DestinationStream }): Logger {
  const settings: LoggerOptions = {
    level: options.level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    messageKey: 'message',
    redact: { paths: secretPaths, censor: '[redacted]' },
    serializers: { err: pino.stdSerializers.err },
    hooks: {
      streamWrite: withoutKeys,
      logMethod(args, method) {
        method.apply(this, withEvent(args));
      },
    },
  };
  return pino(settings, options.destination ?? pino.destination({ dest: 2, sync: true }));
}
