import type { TSchema } from 'typebox';
import { parseDuration } from '../lib/duration.ts';
import { type FieldError, InvariantError } from '../lib/errors.ts';
import { nearest } from '../lib/nearest.ts';
import { formats, quote } from './formats.ts';
import { pointerTo } from './ref.ts';

/**
 * Reads a schema at run time and says in words what a value lacks of it. A generic JSON Schema validator would answer
 * "must match exactly one schema in oneOf"; operators need the field, what was found, what is wanted and the limit.
 */

/** The part of JSON Schema that schema.ts writes. */
interface SchemaNode {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly required?: readonly string[];
  /** Maps: the schema of every value. */
  readonly patternProperties?: Readonly<Record<string, SchemaNode>>;
  readonly maxProperties?: number;
  readonly items?: SchemaNode;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly enum?: readonly (string | number)[];
  readonly const?: string | number | boolean;
  /** Alternatives that differ in type. */
  readonly anyOf?: readonly SchemaNode[];
  /** Of which exactly one property must be given. */
  readonly oneOf?: readonly { readonly required: readonly string[] }[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly format?: string;
  /** Written by Fairway: ignored on input. */
  readonly readOnly?: boolean;
  /** A secret: its value never stands in a message. */
  readonly writeOnly?: boolean;
  readonly 'x-key-format'?: string;
  readonly 'x-max-bytes'?: number;
  readonly 'x-minimum'?: string;
  readonly 'x-maximum'?: string;
}

/** More errors than this help nobody; the rest is left out. */
export const maxErrors = 50;

const utf8 = new TextEncoder();

/** Everything that is wrong with `value`, at most `maxErrors`, with pointers that begin with `pointer`. */
export function checkSchema(schema: TSchema, value: unknown, pointer = ''): FieldError[] {
  const errors: FieldError[] = [];
  checkNode(schema as SchemaNode, value, pointer, errors);
  return errors;
}

function checkNode(node: SchemaNode, value: unknown, pointer: string, errors: FieldError[]): void {
  if (errors.length >= maxErrors) return;
  const fail = (message: string) => errors.push({ pointer, message });
  if (node.anyOf !== undefined) {
    const alternative = node.anyOf.find((candidate) => hasType(candidate, value));
    if (alternative === undefined) {
      fail(`must be ${node.anyOf.map(wantedType).join(' or ')}, not ${found(node, value)}`);
    } else {
      checkNode(alternative, value, pointer, errors);
    }
    return;
  }
  if (node.const !== undefined) {
    if (value !== node.const) fail(`must be ${JSON.stringify(node.const)}, not ${found(node, value)}`);
    return;
  }
  if (node.enum !== undefined) {
    checkEnum(node, node.enum, value, fail);
    return;
  }
  if (!hasType(node, value)) {
    fail(typeFault(node, value));
    return;
  }
  if (typeof value === 'string') checkText(node, value, fail);
  else if (typeof value === 'number') checkNumber(node, value, fail);
  else if (Array.isArray(value)) checkArray(node, value, pointer, errors);
  else if (isObject(value) && node.patternProperties !== undefined) checkMap(node, value, pointer, errors);
  else if (isObject(value)) checkObject(node, value, pointer, errors);
}

function checkEnum(
  node: SchemaNode,
  allowed: readonly (string | number)[],
  value: unknown,
  fail: (message: string) => void,
): void {
  if (allowed.some((candidate) => candidate === value)) return;
  const near = typeof value === 'string' ? (nearest(value, allowed.map(String)) ?? undefined) : undefined;
  const meant = near === undefined ? '' : `; did you mean \`${near}\`?`;
  const list = allowed.length === 1 ? `${allowed[0]}` : `one of ${allowed.join(', ')}`;
  fail(`must be ${list}, not ${found(node, value)}${meant}`);
}

function checkText(node: SchemaNode, text: string, fail: (message: string) => void): void {
  if (!text.isWellFormed()) {
    fail('must be valid Unicode: it holds half of a surrogate pair');
    return;
  }
  const { minLength = 0, maxLength, 'x-max-bytes': maxBytes } = node;
  if (text.length < minLength) {
    fail(minLength === 1 ? 'must not be empty' : `must have at least ${minLength} characters, not ${text.length}`);
    return;
  }
  if (maxLength !== undefined && text.length > maxLength) {
    fail(`must have at most ${maxLength} characters, not ${text.length}`);
    return;
  }
  if (maxBytes !== undefined) {
    const bytes = utf8.encode(text).length;
    if (bytes > maxBytes) fail(`must have at most ${maxBytes} bytes, not ${bytes}`);
  }
  const fault = node.format === undefined ? undefined : formatFault(node, node.format, text);
  if (fault !== undefined) fail(fault);
}

function formatFault(node: SchemaNode, format: string, text: string): string | undefined {
  if (format === 'fairway-duration') return durationFault(node, text);
  const check = formats[format];
  if (check === undefined) throw new InvariantError(`a schema names the unknown format ${format}`);
  return check(text);
}

function durationFault(node: SchemaNode, text: string): string | undefined {
  const ms = parseDuration(text);
  if (ms === undefined) {
    const hint = /^[0-9]+$/.test(text) ? `; the unit is missing, as in ${text}s` : '';
    return `must be a duration such as 250ms, 5s or 1m30s, not ${quote(text)}${hint}`;
  }
  const { 'x-minimum': min = '0s', 'x-maximum': max } = node;
  const isShort = ms < (parseDuration(min) ?? 0);
  const isLong = max !== undefined && ms > (parseDuration(max) ?? 0);
  return isShort || isLong ? `must be from ${min} to ${max}, not ${text}` : undefined;
}

function checkNumber(node: SchemaNode, value: number, fail: (message: string) => void): void {
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = node;
  if (value < minimum || value > maximum) fail(`must be from ${minimum} to ${maximum}, not ${value}`);
}

function checkArray(node: SchemaNode, list: readonly unknown[], pointer: string, errors: FieldError[]): void {
  const { minItems = 0, maxItems = Number.POSITIVE_INFINITY, items } = node;
  if (list.length < minItems) {
    errors.push({ pointer, message: `must have at least ${minItems} item${minItems === 1 ? '' : 's'}` });
  }
  if (list.length > maxItems) {
    errors.push({
      pointer,
      message: `must have at most ${maxItems} item${maxItems === 1 ? '' : 's'}, not ${list.length}`,
    });
    return;
  }
  const first = new Map<unknown, number>();
  for (const [i, item] of list.entries()) {
    if (items !== undefined) checkNode(items, item, pointer + pointerTo(i), errors);
    if (node.uniqueItems !== true || typeof item === 'object') continue;
    const before = first.get(item);
    if (before === undefined) first.set(item, i);
    else errors.push({ pointer: pointer + pointerTo(i), message: `is the same as ${pointer}${pointerTo(before)}` });
  }
}

function checkMap(node: SchemaNode, map: object, pointer: string, errors: FieldError[]): void {
  const [valueNode = {}] = Object.values(node.patternProperties ?? {});
  const entries = Object.entries(map);
  const { maxProperties = Number.POSITIVE_INFINITY, 'x-key-format': keyFormat } = node;
  if (entries.length > maxProperties) {
    errors.push({ pointer, message: `must have at most ${maxProperties} entries, not ${entries.length}` });
    return;
  }
  for (const [key, value] of entries) {
    const at = pointer + pointerTo(key);
    const fault = keyFault(keyFormat, key);
    if (fault !== undefined) errors.push({ pointer: at, message: `its name ${fault}` });
    checkNode(valueNode, value, at, errors);
  }
}

function keyFault(format: string | undefined, key: string): string | undefined {
  // Assigned to an ordinary object it would change the object's prototype instead.
  if (key === '__proto__') return 'is not accepted';
  if (!key.isWellFormed()) return 'must be valid Unicode';
  return format === undefined ? undefined : formats[format]?.(key);
}

function checkObject(node: SchemaNode, value: object, pointer: string, errors: FieldError[]): void {
  const { properties = {}, required = [], oneOf } = node;
  const given = new Map(Object.entries(value).filter(([, field]) => field !== undefined));
  for (const [key, field] of given) {
    if (errors.length >= maxErrors) return;
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined;
    if (property === undefined) {
      errors.push({ pointer: pointer + pointerTo(key), message: unknownField(key, properties) });
    } else if (property.readOnly !== true) {
      checkNode(property, field, pointer + pointerTo(key), errors);
    }
  }
  for (const key of required) {
    if (!given.has(key)) errors.push({ pointer: pointer + pointerTo(key), message: 'is required' });
  }
  if (oneOf !== undefined)
    checkChoice(
      oneOf.flatMap((choice) => choice.required),
      given,
      pointer,
      errors,
    );
}

function unknownField(key: string, properties: Readonly<Record<string, SchemaNode>>): string {
  const known = Object.keys(properties).filter((name) => properties[name]?.readOnly !== true);
  const near = nearest(key, known);
  if (near !== undefined) return `is not a field here; did you mean \`${near}\`?`;
  return known.length === 0
    ? 'is not a field here: there is none'
    : `is not a field here; the fields are ${known.join(', ')}`;
}

function checkChoice(
  choices: readonly string[],
  given: ReadonlyMap<string, unknown>,
  pointer: string,
  errors: FieldError[],
): void {
  const chosen = choices.filter((choice) => given.has(choice));
  const names = (list: readonly string[]) => list.map((choice) => `\`${choice}\``).join(', ');
  if (chosen.length === 0) {
    errors.push({ pointer, message: `must have exactly one of ${names(choices)}, and has none` });
  } else if (chosen.length > 1) {
    errors.push({ pointer, message: `must have exactly one of ${names(choices)}, and has ${names(chosen)}` });
  }
}

function hasType(node: SchemaNode, value: unknown): boolean {
  switch (node.type) {
    case 'object':
      return isObject(value);
    case 'array':
      return Array.isArray(value);
    case 'integer':
      return Number.isSafeInteger(value);
    case 'number':
      return Number.isFinite(value);
    case 'string':
    case 'boolean':
      return typeof value === node.type;
    default:
      return true;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function wantedType(node: SchemaNode): string {
  switch (node.type) {
    case 'object':
      return 'an object';
    case 'array':
      return 'a list';
    case 'integer':
      return 'a whole number';
    case 'number':
      return 'a number';
    case 'boolean':
      return 'true or false';
    default:
      return 'a text';
  }
}

function typeFault(node: SchemaNode, value: unknown): string {
  if (node.format === 'fairway-duration' && typeof value === 'number') {
    return `must be a duration with its unit, such as 250ms or 5s, not the number ${value}`;
  }
  const fault = `must be ${wantedType(node)}, not ${found(node, value)}`;
  if (typeof value === 'string' && node.type !== 'string') {
    const unquoted = { integer: /^-?[0-9]+$/, number: /^-?[0-9.]+$/, boolean: /^(true|false)$/ } as const;
    const type = node.type;
    if ((type === 'integer' || type === 'number' || type === 'boolean') && unquoted[type].test(value)) {
      return `${fault}; leave the quotes out`;
    }
  }
  if (node.type === 'string' && (typeof value === 'number' || typeof value === 'boolean')) {
    return `${fault}; put it in quotes`;
  }
  return fault;
}

function found(node: SchemaNode, value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  if (node.writeOnly === true) return `a ${typeof value}`;
  if (typeof value === 'string') return `the text ${quote(value)}`;
  return typeof value === 'number' ? `the number ${value}` : String(value);
}
