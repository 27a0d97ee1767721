import {
  type Static,
  type TInteger,
  type TObject,
  type TOptional,
  type TProperties,
  type TRecord,
  type TString,
  Type,
} from 'typebox';
import { durationPattern, parseDuration } from '../lib/duration.ts';
import { InvariantError } from '../lib/errors.ts';

/**
 * The building blocks of the schemas. One schema gives the static type, the check (check.ts reads it at run time) and
 * the OpenAPI document, so everything here is plain JSON Schema 2020-12 plus two kinds of extension: a `format` of
 * formats.ts, and `x-` keywords for limits that JSON Schema cannot say.
 */

/** What a schema describes, read-only all the way down: nobody edits a spec in place. */
export type Immutable<T> = T extends readonly (infer E)[]
  ? readonly Immutable<E>[]
  : T extends object
    ? { readonly [K in keyof T]: Immutable<T[K]> }
    : T;

export type Described<S extends TProperties> = Immutable<Static<TObject<S>>>;

/** Largest value of the unsigned 32-bit fields that Envoy uses for limits; a larger one would wrap silently. */
export const maxUint32 = 4_294_967_295;

/** An object that refuses every property not named. */
export function Closed<P extends TProperties>(properties: P, options: { description?: string } = {}): TObject<P> {
  return Type.Object(properties, { additionalProperties: false, ...options });
}

/** A closed object of which exactly one of the properties in `choices` must be given (all of them when absent). */
export function ExactlyOne<P extends TProperties>(
  properties: P,
  options: { description?: string; choices?: readonly (keyof P & string)[] } = {},
): TObject<P> {
  const { choices = Object.keys(properties), ...rest } = options;
  return Type.Object(properties, {
    additionalProperties: false,
    oneOf: choices.map((name) => ({ required: [name] })),
    ...rest,
  });
}

/** Text in one of the forms of formats.ts. */
export function Text(
  format: string,
  options: {
    description?: string;
    minLength?: number;
    maxLength?: number;
    default?: string;
    writeOnly?: boolean;
  } = {},
): TString {
  return Type.String({ format, ...options });
}

export interface DurationLimits {
  readonly description: string;
  readonly min: string;
  readonly max: string;
  readonly default?: string;
}

/** A duration such as `1m30s` between `min` and `max`, both included. */
export function Duration({ description, min, max, ...rest }: DurationLimits): TString {
  return Type.String({
    format: 'fairway-duration',
    pattern: durationPattern,
    description: `${description} A duration from ${min} to ${max}.`,
    'x-minimum': min,
    'x-maximum': max,
    ...rest,
  });
}

export function Port(description: string): TInteger {
  return Type.Integer({ minimum: 1, maximum: 65535, description });
}

/** A map from names in one format to texts in another. */
export function TextMap(
  keyFormat: string,
  valueFormat: string,
  options: { description: string; maxProperties: number; maxLength: number },
): TRecord<'^.*$', TString> {
  const { maxLength, ...rest } = options;
  return Type.Record(Type.String(), Type.String({ format: valueFormat, maxLength }), {
    ...rest,
    'x-key-format': keyFormat,
  });
}

/** Name of an object in the same scope, or `scope/name`. */
export function Ref(description: string): TString {
  return Type.String({ format: 'fairway-ref', description });
}

/** Hosts that something serves: exact names or `*.suffix`. */
export function Hosts(description: string): TOptional<ReturnType<typeof hostList>> {
  return Type.Optional(hostList(description));
}

function hostList(description: string) {
  return Type.Array(Text('fairway-host'), {
    description: `${description} Exact names or \`*.suffix\`; upper and lower case are the same.`,
    minItems: 1,
    maxItems: 100,
  });
}

/** Milliseconds of a duration out of a parsed spec. */
export function durationMs(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvariantError(`"${text}" in a parsed spec is no duration`);
  return ms;
}
