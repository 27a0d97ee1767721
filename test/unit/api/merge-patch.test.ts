import { describe, expect, it } from 'vitest';
import { mergePatch } from '../../../src/api/merge-patch.ts';

describe('a merge patch', () => {
  // RFC 7396 appendix A.
  it.each([
    ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
    ['{"a":"b"}', '{"a":null}', '{}'],
    ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
    ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
    ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
    ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
    ['["a","b"]', '["c","d"]', '["c","d"]'],
    ['{"a":"b"}', '["c"]', '["c"]'],
    ['{"a":"foo"}', 'null', 'null'],
    ['{"a":"foo"}', '"bar"', '"bar"'],
    ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
    ['[1,2]', '{"a":"b","c":null}', '{"a":"b"}'],
    ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
  ])('%s with %s is %s', (target, patch, want) => {
    expect(JSON.stringify(mergePatch(JSON.parse(target), JSON.parse(patch)))).toBe(want);
  });

  it('changes neither of its arguments', () => {
    const target = Object.freeze({ a: Object.freeze({ b: 1 }), c: Object.freeze([1]) });
    const patch = Object.freeze({ a: Object.freeze({ b: null, d: 2 }) });
    expect(mergePatch(target, patch)).toEqual({ a: { d: 2 }, c: [1] });
  });

  it('makes `__proto__` a field like any other', () => {
    const merged = mergePatch({}, JSON.parse('{"__proto__": {"isAdmin": true}}'));
    expect(Object.keys(merged as object)).toEqual(['__proto__']);
    expect((merged as { isAdmin?: boolean }).isAdmin).toBeUndefined();
  });
});
