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

/** A number, or its digits. */
export function wholeNumber(minimum: number, maximum: number): (value: unknown) => Result<number, string> {
  return (value) => {
    const number = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value;
    const fits = typeof number === 'number' && Number.isInteger(number) && number >= minimum && number <= maximum;
    return fits ? ok(number) : err(`must be a whole number from ${minimum} to ${maximum}`);
  };
}

export function parsePath(value: unknown): Result<string, string> {
  return typeof value === 'string' && value !== '' ? ok(value) : err('must be a path');
}

export function parseName(value: unknown): Result<string, string> {
  return typeof value === 'string' && value !== '' ? ok(value) : err('must be a name');
}
