import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { inspectRegex, maxRegexProgram } from '../../../src/model/regex.ts';

describe('accepted, as RE2 does', () => {
  test.each<[string, number]>([
    ['abc', 0],
    ['', 0],
    ['/api/v[0-9]+/.*', 0],
    ['(a)(?:b)(?P<name>c)(?<other>d)', 3],
    ['(?i)abc', 0],
    ['(?i:abc)(?-s:.)(?U)a+', 0],
    ['a|b||c', 0],
    ['()', 1],
    ['a*?b+?c??d{2}e{2,}?f{2,3}', 0],
    ['a{,3}', 0],
    ['{a}', 0],
    ['[]a]', 0],
    ['[^]a]', 0],
    ['[a-z0-9_.-]', 0],
    ['[[:alpha:][:^digit:]]', 0],
    ['[\\d\\-\\]]', 0],
    ['\\d\\D\\s\\S\\w\\W\\b\\B\\A\\z', 0],
    ['\\.\\*\\\\\\/\\-', 0],
    ['\\n\\t\\x41\\x{7f}', 0],
    ['\\Qa.b*(\\E+', 0],
    ['^a$', 0],
    ['a{1000}', 0],
    ['(a{10}){100}', 1],
  ])('%s', (text, groups) => {
    expect(inspectRegex(text)).toMatchObject({ ok: true, value: { groups } });
  });
});

describe('refused, with the place', () => {
  test.each<[string, string, RegExp]>([
    ['an open group', 'a(b', /^`\(` without `\)` \(character 2\)$/],
    ['an open class', 'a[b', /^`\[` without `\]` \(character 2\)$/],
    ['an empty class', '[]', /`\[` without/],
    ['a closed group', 'a)b', /^`\)` without `\(` \(character 2\)$/],
    ['a backslash at the end', 'a\\', /`\\` at the end \(character 2\)/],
    ['nothing to repeat', '*a', /^`\*` has nothing before it to repeat \(character 1\)$/],
    ['nothing to repeat in a group', '(+a)', /`\+` has nothing before it/],
    ['nothing to repeat in a branch', 'a|?', /`\?` has nothing before it/],
    ['a repeated border', '^*', /`\*` has nothing before it to repeat \(character 2\)/],
    ['a repeated word border', '\\b+', /`\+` has nothing before it/],
    ['a repetition at the start', '{2}', /has nothing before it/],
    ['two repetitions', 'a**', /two repetitions in a row/],
    ['a repeated repetition', 'a{2}{3}', /two repetitions in a row/],
    ['a reversed repetition', 'a{3,2}', /\{3,2\} is reversed/],
    ['a repetition too large', 'a{1001}', /more than 1000/],
    ['nested repetitions too large', '(a{100}){11}', /more than 1000, nested ones multiplied/],
    ['repeated flags', '(?i)*', /flags cannot be repeated/],
    ['a reversed range', '[z-a]', /`z-a` is not valid \(character 2\)/],
    ['a range to a class', '[a-\\d]', /is not valid/],
    ['an unknown class', '[[:letter:]]', /no class `\[:letter:\]`/],
    ['a border in a class', '[\\b]', /no meaning in a class/],
    ['look-ahead', 'a(?=b)', /look-around `\(\?=` does not exist in RE2.*\(character 2\)/],
    ['negative look-ahead', 'a(?!b)', /look-around `\(\?!`/],
    ['look-behind', '(?<=a)b', /look-around `\(\?<=`/],
    ['negative look-behind', '(?<!a)b', /look-around `\(\?<!`/],
    ['a back-reference', '(a)\\1', /back-references do not exist in RE2 \(character 4\)/],
    ['a named back-reference', '(?<n>a)\\k<n>', /back-references/],
    ['a named back-reference of Python', '(?P<n>a)(?P=n)', /back-references/],
    ['an atomic group', '(?>a)', /`\(\?` does not begin anything/],
    ['a comment', '(?#a)', /`\(\?` does not begin anything/],
    ['no flags', '(?)', /`\(\?` does not begin anything/],
    ['a unicode class', '\\p{L}', /`\\p` is not accepted/],
    ['an unknown escape', '\\y', /`\\y` is not known/],
    ['a control escape of JavaScript', '\\cA', /`\\c` is not known/],
    ['a code beyond ASCII', '\\x{100}', /ASCII character/],
    ['a cut code', '\\x4', /two hexadecimal digits/],
    ['a letter beyond ASCII', 'ä', /only printable ASCII/],
    ['a control character', 'a\nb', /only printable ASCII/],
    ['an empty quotation', '\\Q\\E*', /nothing is quoted/],
    ['groups too deep', `${'('.repeat(51)}a${')'.repeat(51)}`, /deeper than 50/],
    ['a program too large', '[^/]{300}', /too large: about [0-9]+ instructions, at most 5000/],
  ])('%s: %s', (_, text, want) => {
    const result = inspectRegex(text);
    expect(result.ok ? 'accepted' : result.error).toMatch(want);
  });
});

test('the bootstrap lets Envoy take what is accepted here', () => {
  const bootstrap = readFileSync(new URL('../../../envoy/bootstrap/proxy.yaml', import.meta.url), 'utf8');
  const level = /re2: \{ max_program_size: \{ error_level: ([0-9]+)/.exec(bootstrap)?.[1];
  expect(Number(level)).toBeGreaterThanOrEqual(maxRegexProgram);
});
