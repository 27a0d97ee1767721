import { FairwayError } from '../lib/errors.ts';
import { nearest } from '../lib/nearest.ts';

/**
 * Parameters of a request's query. A name that is not known and a value that cannot be read are refused, so that a
 * misspelt `dryrun=true` does not become a write.
 */

/** Reads the text of one parameter, or says what it should be. */
export interface Parameter<T> {
  read(text: string): T | undefined;
  /** Completes "must be …". */
  readonly wanted: string;
  /** For the OpenAPI document. */
  readonly schema: Readonly<Record<string, unknown>>;
  readonly description: string;
}

export type Parameters = Readonly<Record<string, Parameter<unknown>>>;

export type ValuesOf<P extends Parameters> = {
  readonly [K in keyof P]: P[K] extends Parameter<infer T> ? T | undefined : never;
};

export function flag(description: string): Parameter<boolean> {
  return {
    read: (text) => (text === 'true' || text === '' ? true : text === 'false' ? false : undefined),
    wanted: 'true or false',
    schema: { type: 'boolean', default: false },
    description,
  };
}

export function wholeNumber(
  description: string,
  minimum: number,
  maximum = Number.MAX_SAFE_INTEGER,
): Parameter<number> {
  return {
    read: (text) => {
      const value = /^[0-9]{1,16}$/.test(text) ? Number(text) : Number.NaN;
      return value >= minimum && value <= maximum ? value : undefined;
    },
    wanted: `a whole number from ${minimum}${maximum === Number.MAX_SAFE_INTEGER ? '' : ` to ${maximum}`}`,
    schema: { type: 'integer', minimum, ...(maximum !== Number.MAX_SAFE_INTEGER && { maximum }) },
    description,
  };
}

export function text(description: string): Parameter<string> {
  return {
    read: (value) => (value === '' ? undefined : value),
    wanted: 'a text that is not empty',
    schema: { type: 'string' },
    description,
  };
}

/** Reads all parameters of a query, as the framework splits it (a list where a name is given several times). */
export function readQuery<P extends Parameters>(query: unknown, parameters: P): ValuesOf<P> {
  const values: Record<string, unknown> = {};
  for (const [name, given] of Object.entries(query as Readonly<Record<string, string | readonly string[]>>)) {
    const parameter = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
    if (parameter === undefined) throw unknownParameter(name, Object.keys(parameters));
    if (typeof given !== 'string') throw invalidParameter(name, 'is given more than once');
    const value = parameter.read(given);
    if (value === undefined) throw invalidParameter(name, `must be ${parameter.wanted}`);
    values[name] = value;
  }
  return values as ValuesOf<P>;
}

export function invalidParameter(name: string, fault: string): FairwayError {
  return new FairwayError('InvalidParameter', `reading the query: ${name} ${fault}`, { extra: { parameter: name } });
}

function unknownParameter(name: string, known: readonly string[]): FairwayError {
  const near = nearest(name, known);
  const list = known.length === 0 ? 'it takes none' : `it takes ${known.join(', ')}`;
  const hint = near === undefined ? list : `did you mean \`${near}\`?`;
  return invalidParameter(name.slice(0, 64), `is no parameter of this request; ${hint}`);
}
