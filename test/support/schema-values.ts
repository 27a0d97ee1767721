/**
 * Values that a schema of the model allows, with a liking for its limits: smallest and largest numbers, longest texts,
 * characters that mean something to somebody. What the model's further checks refuse is for the caller to leave out.
 */
import fc from 'fast-check';
import type { TSchema } from 'typebox';
import { formatDuration, parseDuration } from '../../src/lib/duration.ts';
import { formats } from '../../src/model/formats.ts';

interface Node {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly required?: readonly string[];
  readonly patternProperties?: Readonly<Record<string, Node>>;
  readonly items?: Node;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Node[];
  readonly oneOf?: readonly { readonly required: readonly string[] }[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly format?: string;
  readonly 'x-key-format'?: string;
  readonly 'x-max-bytes'?: number;
  readonly 'x-minimum'?: string;
  readonly 'x-maximum'?: string;
}

/** Texts of a format, or values of a field by its name. */
export type Overrides = Readonly<Record<string, fc.Arbitrary<unknown>>>;

export function valuesOf(schema: TSchema, overrides: Overrides = {}): fc.Arbitrary<unknown> {
  return valueFor(schema as Node, overrides);
}

function valueFor(node: Node, overrides: Overrides): fc.Arbitrary<unknown> {
  if (node.anyOf !== undefined) return fc.oneof(...node.anyOf.map((one) => valueFor(one, overrides)));
  if (node.enum !== undefined) return fc.constantFrom(...node.enum);
  if (node.const !== undefined) return fc.constant(node.const);
  if (node.patternProperties !== undefined) return mapOf(node, overrides);
  switch (node.type) {
    case 'boolean':
      return fc.boolean();
    case 'integer':
      return numberOf(node);
    case 'string':
      return textOf(node, overrides);
    case 'array':
      return arrayOf(node, overrides);
    default:
      return objectOf(node, overrides);
  }
}

function numberOf({ minimum = 0, maximum = 0 }: Node): fc.Arbitrary<number> {
  return fc.oneof(fc.constantFrom(minimum, maximum), fc.integer({ min: minimum, max: maximum }));
}

function arrayOf(node: Node, overrides: Overrides): fc.Arbitrary<unknown[]> {
  const { items = {}, minItems = 0, maxItems = 4 } = node;
  const maxLength = Math.max(minItems, Math.min(maxItems, 4));
  const options = { minLength: minItems, maxLength };
  const item = valueFor(items, overrides);
  return node.uniqueItems === true ? fc.uniqueArray(item, options) : fc.array(item, options);
}

function mapOf(node: Node, overrides: Overrides): fc.Arbitrary<unknown> {
  const [value = {}] = Object.values(node.patternProperties ?? {});
  const key = textOf({ type: 'string', ...(node['x-key-format'] && { format: node['x-key-format'] }) }, overrides);
  return fc.dictionary(key as fc.Arbitrary<string>, valueFor(value, overrides), { maxKeys: 3 });
}

function objectOf(node: Node, overrides: Overrides): fc.Arbitrary<unknown> {
  const properties = Object.entries(node.properties ?? {});
  const choices = node.oneOf?.map(({ required: [name = ''] }) => name) ?? [];
  const chosen = choices.length === 0 ? fc.constant('') : fc.constantFrom(...choices);
  return chosen.chain((choice) => {
    const fields = properties.filter(([name]) => !choices.includes(name) || name === choice);
    const required = fields.map(([name]) => name).filter((name) => node.required?.includes(name) || name === choice);
    const model = Object.fromEntries(fields.map(([name, one]) => [name, overrides[name] ?? valueFor(one, overrides)]));
    return fc.record(model, { requiredKeys: required });
  });
}

const hour = 3_600_000;

/** Characters that formats, protobuf, HTTP, Envoy's formatters or RE2 may take for something. */
const letters = [
  'a',
  'B',
  '0',
  '-',
  '.',
  '_',
  '/',
  '%',
  '%%',
  '%20',
  '%2F',
  ';',
  ':',
  '@',
  '=',
  '&',
  '+',
  '*',
  '$',
  '(',
  ')',
];
const beyond = [
  '"',
  '\\',
  '{',
  '}',
  '[',
  ']',
  '<',
  '>',
  "'",
  '`',
  '~',
  '^',
  '|',
  '?',
  '!',
  ',',
  ' ',
  '\t',
  'é',
  '水',
  '𝒳',
];
const regexPieces = [
  'a',
  '[a-z]',
  '.',
  '.*',
  '(b|c)',
  '\\d+',
  '\\.',
  '(?:x)?',
  '[^/]+',
  '^',
  '$',
  '\\w{1,5}',
  '(?i)y',
  '/',
  '%',
];

/** Shapes of texts of a format; what the format's own check refuses is left out. */
const shapes: Readonly<Record<string, (maxLength: number) => fc.Arbitrary<string>>> = {
  'fairway-duration': () => fc.constant('1s'),
  'fairway-name': () => fc.constantFrom('a', 'rule-1', 'x'.repeat(63)),
  'fairway-scope-pattern': () => fc.constantFrom('*', 'default'),
  'fairway-dns-name': () => fc.constantFrom('a', 'shop.example', `${'x'.repeat(63)}.example`),
  'fairway-hostname': () => fc.constantFrom('a', 'shop.example', '10.0.0.1', `${'x'.repeat(63)}.example`),
  'fairway-host': () =>
    fc.oneof(
      fc.constantFrom('a', 'Shop.example', '*.example', '*.a.example', '10.1.1.1', `${'y'.repeat(63)}.example`),
      fc.integer({ min: 0, max: 99 }).map((n) => `h${n}.example`),
    ),
  'fairway-ip': () => fc.constantFrom('10.0.0.1', '2001:db8::1'),
  'fairway-member-address': () => fc.constantFrom('10.0.0.1', '10.0.0.2', '2001:db8::1', 'localhost'),
  'fairway-status-range': () => fc.constantFrom('100', '599', '100-599', '200-204'),
  'fairway-regex': (maxLength) => pieces(regexPieces, maxLength, 1),
  'fairway-path': (maxLength) => pieces(letters, maxLength - 1, 0).map((text) => `/${text}`),
  'fairway-request-target': (maxLength) => pieces([...letters, '?'], maxLength - 1, 0).map((text) => `/${text}`),
  'fairway-header-name': () =>
    fc.oneof(fc.constantFrom('x-a', 'User-Agent', 'x'.repeat(256)), pieces(['a', '!', '#', '$', '|', '~', '%'], 20, 1)),
  'fairway-edited-header': () =>
    fc.oneof(fc.constantFrom('x-a', 'Server', 'x'.repeat(256)), pieces(['a', '!', '#', '$', '|', '~', '%'], 20, 1)),
};

function pieces(of: readonly string[], maxLength: number, minPieces: number): fc.Arbitrary<string> {
  const some = fc.array(fc.constantFrom(...of), { minLength: minPieces, maxLength: 12 }).map((list) => list.join(''));
  const long = fc.constantFrom(...of).map((one) => one.repeat(Math.max(1, Math.floor(maxLength / one.length))));
  return fc.oneof({ weight: 5, arbitrary: some }, { weight: 1, arbitrary: long });
}

function textOf(node: Node, overrides: Overrides): fc.Arbitrary<unknown> {
  const { format = 'fairway-text', minLength = 0, maxLength = node['x-max-bytes'] ?? 256 } = node;
  const override = overrides[format];
  if (override !== undefined) return override;
  if (format === 'fairway-duration') return durationOf(node);
  const shape = shapes[format]?.(maxLength) ?? pieces([...letters, ...beyond], maxLength, minLength);
  const check = formats[format];
  return shape.filter((text) => text.length <= maxLength && text.length >= minLength && check?.(text) === undefined);
}

function durationOf(node: Node): fc.Arbitrary<string> {
  const min = parseDuration(node['x-minimum'] ?? '0s') ?? 0;
  const max = parseDuration(node['x-maximum'] ?? '1h') ?? hour;
  return fc.oneof(fc.constantFrom(min, max), fc.integer({ min, max })).map(formatDuration);
}

/** Takes out what pointers of errors name: a field, an item, or the object that lacks something. */
export function without(value: unknown, pointers: readonly string[]): unknown {
  const mended = structuredClone(value);
  // The last items of a list first, so that those before it keep their places.
  for (const pointer of [...new Set(pointers)].sort().reverse()) remove(mended, pointer.split('/').slice(1));
  return mended;
}

function remove(root: unknown, path: readonly string[]): void {
  const [key = '', ...rest] = path;
  if (typeof root !== 'object' || root === null) return;
  const fields = root as Record<string, unknown>;
  const isThere = key in fields;
  if (rest.length > 0 && isThere) {
    const child = fields[rest[0] === undefined ? '' : key] as Record<string, unknown> | undefined;
    const isMissing = rest.length === 1 && child !== undefined && !(String(rest[0]) in child);
    if (!isMissing) {
      remove(child, rest);
      return;
    }
  }
  if (!isThere) return;
  if (Array.isArray(root)) root.splice(Number(key), 1);
  else delete fields[key];
}
