import type { Query } from './client.ts';
import { usageError } from './failure.ts';
import { resolveKind, singular } from './kind-words.ts';
import type { WireName } from './wire.ts';

/** Objects that events and records of the audit are about. */

/** `KIND` or `KIND/NAME` as parameters of a request. A controller is no object, but things happen to it. */
export function objectQuery(word: string | undefined): Query {
  if (word === undefined) return {};
  const [kind = '', name, ...rest] = word.split('/');
  if (rest.length > 0 || name === '') throw usageError(`"${word}" is neither KIND nor KIND/NAME`);
  return { kind: kind.toLowerCase() === 'controller' ? 'Controller' : resolveKind(kind), name };
}

/** `virtual-service/shop`, with its scope where it is not the default one: `virtual-service/web/shop`. */
export function objectWords({ kind, scope, name }: WireName): string {
  const place = scope === undefined || scope === 'default' ? '' : `${scope}/`;
  return `${singular(kind)}/${place}${name}`;
}
