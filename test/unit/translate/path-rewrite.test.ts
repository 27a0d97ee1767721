import { describe, expect, test } from 'vitest';
import { pathRewrite, prefixRewrite } from '../../../src/translate/path-rewrite.ts';

/** What Envoy makes of a path whose prefix `matched` a route. */
function applied(matched: string, replacement: string, path: string): string {
  const rewrite = prefixRewrite({ prefix: matched }, replacement);
  if ('prefixRewrite' in rewrite) return rewrite.prefixRewrite + path.slice(matched.length);
  return path.replace(new RegExp(rewrite.regexRewrite.pattern.regex), rewrite.regexRewrite.substitution);
}

describe('a replaced prefix', () => {
  test.each<[matched: string, replacement: string, path: string, want: string]>([
    ['/api', '/', '/api', '/'],
    ['/api', '/', '/api/x', '/x'],
    ['/api', '/v2', '/api', '/v2'],
    ['/api', '/v2', '/api/x', '/v2/x'],
    ['/api', '/v2/', '/api', '/v2/'],
    ['/api', '/v2/', '/api/x', '/v2/x'],
    ['/api/', '/', '/api/x', '/x'],
    ['/api/', '/v2', '/api/x', '/v2/x'],
    ['/api/', '/v2/', '/api/x', '/v2/x'],
    ['/', '/v2', '/x', '/v2/x'],
    ['/', '/v2', '/', '/v2/'],
    ['/', '/', '/x', '/x'],
    ['/a.b', '/', '/a.b/x', '/x'],
    ['/a(b', '/', '/a(b/x', '/x'],
  ])('%s to %s: %s becomes %s', (matched, replacement, path, want) => {
    expect(applied(matched, replacement, path)).toBe(want);
  });

  test('its characters mean themselves', () => {
    const rewrite = prefixRewrite({ prefix: '/a.b' }, '/');
    expect(rewrite).toEqual({ regexRewrite: { pattern: { regex: '^/a\\.b/?' }, substitution: '/' } });
  });
});

describe('other rewriting', () => {
  test('a whole path; a backslash in it is one', () => {
    expect(pathRewrite(undefined, { path: '/a\\1' })).toEqual({
      regexRewrite: { pattern: { regex: '^.*$' }, substitution: '/a\\\\1' },
    });
  });

  test('an expression as it was written', () => {
    expect(pathRewrite(undefined, { regex: { pattern: 'a(.)', substitution: '\\1' } })).toEqual({
      regexRewrite: { pattern: { regex: 'a(.)' }, substitution: '\\1' },
    });
  });

  test('none', () => {
    expect(pathRewrite({ prefix: '/' }, { host: 'a.example' })).toBeUndefined();
    expect(pathRewrite({ prefix: '/' }, undefined)).toBeUndefined();
  });
});
