import { nearest } from '../lib/nearest.ts';
import { err, ok, type Result } from '../lib/result.ts';

/** One field of a configuration: the ways to give it, and how a value is read. */
export interface FieldInfo<T> {
  readonly flag: string;
  readonly env: string;
  readonly help: string;
  /** The value, or what is wrong with it. */
  parse(value: unknown): Result<T, string>;
}

export function parseBoolean(value: unknown): Result<boolean, string> {
  if (typeof value === 'boolean') return ok(value);
  if (value === 'true' || value === '1') return ok(true);
  if (value === 'false' || value === '0') return ok(false);
  return err('must be true or false');
}

export function oneOf<const T extends string>(words: readonly T[]): (value: unknown) => Result<T, string> {
  return (value) => {
    const word = words.find((candidate) => candidate === value);
    if (word !== undefined) return ok(word);
    const near = typeof value === 'string' ? nearest(value, words) : undefined;
    return err(`must be one of ${words.join(', ')}${near === undefined ? '' : `; did you mean ${near}?`}`);
  };
}
