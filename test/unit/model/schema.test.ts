import { describe, expect, test } from 'vitest';
import { checkSchema } from '../../../src/model/check.ts';
import { formats } from '../../../src/model/formats.ts';
import { kindInfo, kindNames, objectSchema } from '../../../src/model/index.ts';

/** JSON Schema as it stands in the OpenAPI document. */
interface Node {
  readonly [keyword: string]: unknown;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly patternProperties?: Readonly<Record<string, Node>>;
  readonly items?: Node;
  readonly anyOf?: readonly Node[];
}

/** Every part of a schema that Fairway checks on input, with its place. */
function* parts(node: Node, place: string): Generator<readonly [string, Node]> {
  if (node['readOnly'] === true) return;
  yield [place, node];
  for (const [name, child] of Object.entries(node.properties ?? {})) yield* parts(child, `${place}/${name}`);
  for (const child of Object.values(node.patternProperties ?? {})) yield* parts(child, `${place}/*`);
  if (node.items !== undefined) yield* parts(node.items, `${place}[]`);
  for (const child of node.anyOf ?? []) yield* parts(child, place);
}

const all = kindNames.flatMap((kind) => [...parts(objectSchema(kind) as unknown as Node, kind)]);

/** Places at which a rule does not hold. */
const places = (broken: (node: Node, place: string) => boolean) =>
  all.filter(([place, node]) => broken(node, place)).map(([place]) => place);

describe('every part of every schema', () => {
  test('numbers have a range', () => {
    expect(
      places(({ type, minimum, maximum }) => type === 'integer' && (minimum === undefined || maximum === undefined)),
    ).toEqual([]);
    expect(places(({ type }) => type === 'number')).toEqual([]);
  });

  test('lists and maps have a limit', () => {
    expect(places(({ type, maxItems }) => type === 'array' && maxItems === undefined)).toEqual([]);
    expect(
      places(({ patternProperties, maxProperties }) => patternProperties !== undefined && maxProperties === undefined),
    ).toEqual([]);
  });

  test('objects are closed', () => {
    expect(
      places(({ properties, additionalProperties }) => properties !== undefined && additionalProperties !== false),
    ).toEqual([]);
  });

  test('texts have a form or a limit', () => {
    expect(
      places(
        (node) =>
          node['type'] === 'string' &&
          ['const', 'format', 'x-max-bytes'].every((keyword) => node[keyword] === undefined),
      ),
    ).toEqual([]);
    const unknown = places(({ format, 'x-key-format': keys }) =>
      [format, keys].some(
        (name) => name !== undefined && name !== 'fairway-duration' && !Object.hasOwn(formats, String(name)),
      ),
    );
    expect(unknown).toEqual([]);
    // These forms do not limit the length by themselves.
    const open = [
      'fairway-text',
      'fairway-path',
      'fairway-request-target',
      'fairway-regex',
      'fairway-pem',
      'fairway-header-value',
      'fairway-annotation-value',
    ];
    expect(places(({ format, maxLength }) => open.includes(String(format)) && maxLength === undefined)).toEqual([]);
  });

  test('fields of a spec are explained', () => {
    const fields = all.filter(([place]) => /\/spec\/.*[^\]*]$/.test(place));
    expect(fields.length).toBeGreaterThan(100);
    const silent = fields.filter(
      ([, node]) => node['description'] === undefined && node['anyOf'] === undefined && node['type'] !== 'integer',
    );
    expect(silent.map(([place]) => place).filter((place) => !explainedByItself.test(place))).toEqual([]);
  });

  test('defaults are values that would be accepted', () => {
    const withDefault = all.filter(([, node]) => node['default'] !== undefined);
    expect(withDefault.length).toBeGreaterThan(20);
    for (const [place, node] of withDefault) {
      expect([place, checkSchema(node as never, node['default'])]).toEqual([place, []]);
    }
  });
});

/** The parts of a header change and of a retry, whose whole is explained. */
const explainedByItself = /\/headers\/(request|response)$|\/action$|\/backoff$|\/rewrite\/regex$|\/apiVersion$/;

test.each(kindNames)('%s: every condition type has reasons of its own, in CamelCase, none twice', (kind) => {
  const { reasons } = kindInfo(kind);
  expect(Object.keys(reasons)).toContain('Accepted');
  for (const [type, list] of Object.entries(reasons)) {
    // The first is the reason of status True.
    expect(list[0]).toBe(type);
    expect(new Set(list).size).toBe(list.length);
    for (const reason of list) expect(reason).toMatch(/^([A-Z][a-z]+)+$/);
  }
});

test.each(kindNames)('%s: secret fields are write-only in the schema, and no others', (kind) => {
  const writeOnly = [...parts(objectSchema(kind) as unknown as Node, '')].filter(
    ([, node]) => node['writeOnly'] === true,
  );
  expect(writeOnly.map(([place]) => place)).toEqual(kindInfo(kind).secretFields);
});
