/** Laws of the check of a server's configuration: it never throws, and says of each fault where it was given. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { parseServerConfig, type ServerConfig, serverDefaults, serverFields } from '../../src/config/index.ts';

const fields = Object.keys(serverFields) as (keyof ServerConfig)[];

/** Values of all fields that are near to being right, and such that are not. */
const value = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom<unknown>('127.0.0.1:0', '[::1]:7600', '0.0.0.0:1', 'localhost:65536', ':1', '[::1', '1.2.3.4:'),
  fc.constantFrom<unknown>('etcd', 'sqlite', 'own', 'files', 'true', '1', true, false, '/fairway', '/a//b', 'a.pem'),
  fc.constantFrom<unknown>(
    'http://h:1',
    'https://h',
    'http://h,https://h',
    ['http://h'],
    [],
    [1],
    'http://u:p@h',
    'http://[',
  ),
  fc.constantFrom<unknown>('1h', '1ms', '9999h', '1e9h', '-1s', '', ' ', '\u0000', 'x'.repeat(5000)),
  fc.string({ unit: 'binary' }),
);

const name = fc.oneof(
  fc.constantFrom<string>(...fields),
  fc.constantFrom('lissten', 'store', '__proto__', 'constructor', 'toString', ''),
  fc.string(),
);

/** A file's content: mostly a mapping, with the store as a mapping of its own now and then. */
const file = fc.oneof(
  fc.dictionary(name, value),
  fc
    .tuple(fc.dictionary(name, value), fc.dictionary(fc.oneof(fc.constantFrom('kind', 'endpoints', 'ca'), name), value))
    .map(([top, store]) => ({ ...top, store })),
  fc.jsonValue({ maxDepth: 3 }),
);

const variables = fc.constantFrom(...fields.map((field) => serverFields[field].env));
const env = fc.dictionary(variables, fc.string({ unit: 'binary' }));
const flags = fc.dictionary(fc.constantFrom<string>(...fields), value);

/** Where something can be given: the field of a file, a variable, a flag. */
const places = new Set(fields.flatMap((field) => [serverFields[field].env, serverFields[field].flag]));

function check(input: Parameters<typeof parseServerConfig>[0]): void {
  const parsed = parseServerConfig(input);
  if (parsed.ok) {
    for (const field of fields) expect(typeof parsed.value[field], field).toBe(typeof serverDefaults[field]);
    // What was accepted is accepted again, as it is.
    const given = Object.entries(parsed.value).filter(
      ([field, one]) => one !== serverDefaults[field as keyof ServerConfig],
    );
    expect(parseServerConfig({ file: Object.fromEntries(given), env: {}, flags: {} })).toEqual(parsed);
    return;
  }
  expect(parsed.error.length).toBeGreaterThan(0);
  for (const { pointer, message } of parsed.error) {
    if (!/^(\/.*)?$/s.test(pointer)) expect(places).toContain(pointer);
    expect(message).not.toBe('');
  }
}

test('a configuration of any kind is taken, or refused with its places', () => {
  fc.assert(
    fc.property(file, env, flags, (content, variablesGiven, flagsGiven) => {
      check({ file: content, env: variablesGiven, flags: flagsGiven });
    }),
  );
});

test('so is what any text means in YAML', () => {
  const line = fc.tuple(
    name,
    fc.constantFrom(': ', ':', ' - ', ''),
    fc.oneof(fc.string(), fc.constantFrom('[', '{a: 1}', '&a', '*a')),
  );
  fc.assert(
    fc.property(fc.array(line.map((words) => words.join(''))), (lines) => {
      let content: unknown;
      try {
        content = parse(lines.join('\n'), { maxAliasCount: 0, logLevel: 'silent' });
      } catch {
        return;
      }
      check({ file: content, env: {}, flags: {} });
    }),
  );
});
