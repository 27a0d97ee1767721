import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino';

export type { Logger } from 'pino';

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

/**
 * Fields that can hold key material are cut out wherever a log line might carry an object: a certificate's key is
 * nowhere printed, not even by mistake.
 */
const secretPaths = [
  'key',
  'spec.key',
  'object.spec.key',
  '*.spec.key',
  'req.headers.authorization',
  'headers.authorization',
];

/**
 * One line of JSON per event on `destination` (standard error by default): `event` is a constant name, facts stand in
 * fields. Rooms take a child with their name.
 */
export function createLogger(options: { level: LogLevel; destination?: DestinationStream }): Logger {
  const settings: LoggerOptions = {
    level: options.level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    messageKey: 'message',
    redact: { paths: secretPaths, censor: '[redacted]' },
    serializers: { err: pino.stdSerializers.err },
  };
  return pino(settings, options.destination ?? pino.destination({ dest: 2, sync: true }));
}
