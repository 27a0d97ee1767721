import { splitHostPort } from '../config/index.ts';
import { InvariantError } from '../lib/errors.ts';

/** Where a door of the configuration is opened. */
export function listenOn(text: string): { host: string; port: number } {
  const split = splitHostPort(text);
  if (split === undefined) throw new InvariantError(`${text} was not checked as host:port`);
  return split;
}
