import { describe, expect, test } from 'vitest';
import { parseManifest } from '../../../src/model/index.ts';

const valuesOf = (text: string, format: 'yaml' | 'json' = 'yaml') => {
  const result = parseManifest(text, { format });
  return result.ok ? result.value : result.error;
};

const faultOf = (text: string, format: 'yaml' | 'json' = 'yaml') => {
  const result = parseManifest(text, { format });
  if (result.ok) return 'no fault';
  expect(result.error.every(({ pointer }) => pointer === '')).toBe(true);
  return result.error.map(({ message }) => message).join('\n');
};

describe('YAML', () => {
  test.each<[string, string, readonly unknown[]]>([
    ['nothing', '', []],
    ['comments alone', '# a\n---\n# b\n', []],
    ['one document', 'a: 1\n', [{ a: 1 }]],
    ['several, empty ones left out', '---\na: 1\n---\n---\nb: [x]\n...\n', [{ a: 1 }, { b: ['x'] }]],
    ['JSON is YAML', '{"a": [1, "2", null, true]}', [{ a: [1, '2', null, true] }]],
    [
      'values stay what they are written as',
      'a: "80"\nb: 80\nc: yes\nd: true\ne: 1e3\nf: 2020-01-01\ng: ~\nh: on\ni: 0x10\nj: 1_000\nk: 5s',
      [{ a: '80', b: 80, c: 'yes', d: true, e: 1000, f: '2020-01-01', g: null, h: 'on', i: 16, j: '1_000', k: '5s' }],
    ],
    ['keys are texts', '80: a\ntrue: b', [{ '80': 'a', true: 'b' }]],
    ['no merge keys', 'a: {<<: {b: 1}}', [{ a: { '<<': { b: 1 } } }]],
    ['a few aliases', 'a: &x [1, 2]\nb: *x\nc: *x', [{ a: [1, 2], b: [1, 2], c: [1, 2] }]],
    ['a block text', 'key: |\n  -----BEGIN\n  AAAA\n', [{ key: '-----BEGIN\nAAAA\n' }]],
  ])('%s', (_, text, want) => {
    expect(valuesOf(text)).toEqual(want);
  });

  const bomb = ['a: &a [x, x, x, x, x, x, x, x, x]', 'b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]']
    .concat(['c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b]', 'd: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c]'])
    .join('\n');
  test.each<[string, string, RegExp]>([
    ['a key twice', 'a: 1\nb:\n  c: 1\n  c: 2\n', /^line 4, column 3: .*unique/],
    ['a key twice in another document', 'a: 1\n---\nb: 1\nb: 2\n', /^line 4, column 1: /],
    ['a tab', 'a:\n\tb: 1', /^line 2, column 1: Tabs are not allowed/],
    ['a text without end', 'a: "x\n', /^line \d, column \d: .*quote/],
    ['a colon too many', 'a: b: c', /^line 1, column 4: /],
    ['a list without end', 'a: [1, 2', /^line 1, column \d: /],
    ['an unknown tag', 'a: !ruby/object x', /^line 1, column 4: Unresolved tag/],
    ['bytes', 'a: !!binary aGVsbG8=', /^line 1, column 4: Unresolved tag/],
    ['a set', 'a: !!set {x, y}', /^line 1, column 4: Unresolved tag/],
    ['a list as key', '? [a, b]\n: 1', /^line 1, column 3: .*keys must be strings/],
    ['an alias of nothing', 'a: *x', /^line 1, column 4: the alias `\*x` stands for nothing/],
    ['an alias of what comes later', 'a: *x\nb: &x 1', /^line 1, column 4: the alias `\*x`/],
    ['an alias of what is around it', 'a: &x [1, *x]', /^line 1, column 11: the alias `\*x`/],
    [
      'an alias bomb',
      bomb,
      /^line \d, column \d+: the alias `\*\w` is one too many: aliases add more than 1000 values/,
    ],
    [
      'an alias bomb in depth',
      Array.from(
        { length: 7 },
        (_, i) => `a${i}: &a${i} ${'['.repeat(10)}${i === 0 ? 'x' : `*a${i - 1}`}${']'.repeat(10)}`,
      ).join('\n'),
      /nested deeper than 64/,
    ],
    ['brackets too deep', `a: ${'['.repeat(70)}${']'.repeat(70)}`, /^line 1, column 67: nested deeper than 64 levels/],
    [
      'blocks too deep',
      Array.from({ length: 70 }, (_, i) => `${' '.repeat(i)}a:`).join('\n'),
      /^line 65, column 65: nested/,
    ],
    ['lists in one line too deep', `${'- '.repeat(100_000)}a`, /nested deeper than 64 levels/],
    ['a hundred thousand open brackets', '['.repeat(100_000), /^line 1, column 65: nested deeper than 64 levels/],
    ['too many documents', '---\na: 1\n'.repeat(1001), /^line 2001, column 1: more than 1000 documents/],
  ])('%s', (_, text, want) => {
    expect(faultOf(text)).toMatch(want);
  });

  test('keeps count of lines after what cannot be read', () => {
    const parsed = parseManifest('*a{# one\n# two\na: 1\nb: 2\nc: { d: e }\n', { format: 'yaml' });
    expect(parsed.ok ? [] : parsed.error.at(-1)?.message).toMatch(/^line 5, column 11: /);
  });
});

describe('JSON', () => {
  test.each<[string, string, unknown]>([
    [
      'every kind of value',
      ' {"a": [1, -2.5e3, "x", true, false, null, {}, []]}\n',
      { a: [1, -2500, 'x', true, false, null, {}, []] },
    ],
    ['escapes', '"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4\\ud83d\\ude00"', '"\\/\b\f\n\r\tä😀'],
    ['a value alone', '7', 7],
  ])('%s', (_, text, want) => {
    expect(valuesOf(text, 'json')).toEqual([want]);
  });

  test('a key that would change the prototype is a key like others', () => {
    const [value] = valuesOf('{"__proto__": {"a": 1}}', 'json');
    expect(Object.keys(value as object)).toEqual(['__proto__']);
    expect((value as { a?: number }).a).toBeUndefined();
  });

  test.each<[string, string, string]>([
    ['nothing', '', 'line 1, column 1: a value is missing'],
    ['a key twice', '{"a": 1,\n "a": 2}', 'line 2, column 2: the key "a" is there twice'],
    ['a key twice within', '[{"b": {"a": 1, "a": 1}}]', 'line 1, column 17: the key "a" is there twice'],
    ['a comma too many', '{"a": 1,}', 'line 1, column 9: a key in double quotes is missing'],
    ['a comma too many in a list', '[1,]', 'line 1, column 4: "]" does not begin a value'],
    ['a comma too few', '[1 2]', 'line 1, column 4: `,` or `]` is missing'],
    ['a colon too few', '{"a" 1}', 'line 1, column 6: `:` is missing after a key'],
    ['no end', '{"a": 1', 'line 1, column 8: `,` or `}` is missing'],
    ['a text without end', '{"a": "x', 'line 1, column 7: the text in quotes has no end'],
    ['a line break in a text', '"a\nb"', 'line 1, column 3: a control character in a text must be escaped'],
    ['an unknown escape', '"\\x41"', 'line 1, column 2: this escape does not exist'],
    ['a cut escape', '"\\u00"', 'line 1, column 2: `\\u` needs four hexadecimal digits'],
    ['single quotes', "{'a': 1}", 'line 1, column 2: a key in double quotes is missing'],
    ['a leading zero', '[01]', 'line 1, column 3: `,` or `]` is missing'],
    ['a plus', '+1', 'line 1, column 1: "+" does not begin a value'],
    ['a comment', '{} // x', 'line 1, column 4: there is more text after the end of the value'],
    ['NaN', 'NaN', 'line 1, column 1: "N" does not begin a value'],
    ['too deep', '['.repeat(100_000), 'line 1, column 65: nested deeper than 64 levels'],
  ])('%s', (_, text, want) => {
    expect(faultOf(text, 'json')).toBe(want);
  });
});

test('limits can be set', () => {
  expect(parseManifest('[[1]]', { format: 'json', limits: { maxDepth: 1 } })).toMatchObject({ ok: false });
  expect(parseManifest('[[1]]', { format: 'yaml', limits: { maxDepth: 1 } })).toMatchObject({ ok: false });
  expect(parseManifest('a\n---\nb\n', { format: 'yaml', limits: { maxDocuments: 1 } })).toMatchObject({ ok: false });
  expect(parseManifest('a\n---\nb\n', { format: 'yaml', limits: { maxDocuments: 2 } })).toMatchObject({ ok: true });
});
