/** Laws of the check of objects: it never throws, what it accepts it accepts again, and it says where each fault is. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Kind,
  kindNames,
  parseManifest,
  parseObject,
  redact,
  referencesOf,
  sameSpec,
} from '../../src/model/index.ts';
import { inspectRegex } from '../../src/model/regex.ts';
import { objectWith } from '../unit/model/samples.ts';

const json = fc.jsonValue({ maxDepth: 4 });
const kind = fc.constantFrom<Kind>(...kindNames);

/** A valid object in which one value, anywhere, is replaced, taken out or given a strange neighbour. */
const mutated = kind.chain((name) => {
  const object = objectWith(name);
  const places = [...allPlaces(object)];
  const strange = fc.oneof(
    json,
    fc.constantFrom<unknown>(
      undefined,
      null,
      '',
      ' ',
      -1,
      0,
      1e300,
      Number.NaN,
      2 ** 53,
      '\ud800',
      [],
      {},
      '../..',
      'a'.repeat(5000),
    ),
    fc.string({ unit: 'binary' }),
  );
  return fc.tuple(fc.constantFrom(...places), strange, fc.boolean()).map(([place, value, beside]) => {
    const copy = structuredClone(object) as unknown;
    const parent = place.slice(0, -1).reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], copy);
    (parent as Record<string, unknown>)[beside ? `${place.at(-1)}x` : (place.at(-1) ?? '')] = value;
    return copy;
  });
});

function* allPlaces(value: unknown, place: readonly string[] = []): Generator<readonly string[]> {
  if (place.length > 0) yield place;
  if (typeof value !== 'object' || value === null) return;
  for (const [key, child] of Object.entries(value)) yield* allPlaces(child, [...place, key]);
}

describe('parseObject', () => {
  test('takes any JSON value', () => {
    fc.assert(
      fc.property(json, kind, (value, name) => {
        expect(typeof parseObject(value).ok).toBe('boolean');
        expect(typeof parseObject(objectWith(name, value)).ok).toBe('boolean');
        expect(typeof parseObject(objectWith(name, undefined, value)).ok).toBe('boolean');
      }),
    );
  });

  test('says where the fault is, or accepts for good', () => {
    fc.assert(
      fc.property(mutated, (object) => {
        const first = parseObject(object);
        if (!first.ok) {
          expect(first.error.length).toBeGreaterThan(0);
          for (const { pointer, message } of first.error) {
            expect(pointer).toMatch(/^(\/.*)?$/s);
            expect(message.length).toBeLessThan(600);
          }
          return;
        }
        const second = parseObject(JSON.parse(JSON.stringify(first.value)));
        expect(second).toEqual({ ok: true, value: JSON.parse(JSON.stringify(first.value)) });
        expect(sameSpec(first.value.spec, second.ok ? second.value.spec : undefined)).toBe(true);
        for (const { field } of referencesOf(first.value)) expect(at(first.value, field)).toEqual(expect.any(String));
        expect(redact(redact(first.value))).toEqual(redact(first.value));
      }),
      { numRuns: 2000 },
    );
  });
});

function at(value: unknown, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .reduce<unknown>((object, key) => (object as Record<string, unknown>)[key], value);
}

describe('parseManifest', () => {
  test('JSON as JSON.parse reads it', () => {
    fc.assert(
      fc.property(json, fc.constantFrom(undefined, 2), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        expect(parseManifest(text, { format: 'json' })).toEqual({ ok: true, value: [JSON.parse(text)] });
      }),
    );
  });

  test('no text makes it throw, and what JSON.parse refuses it refuses', () => {
    const noise = fc.string({
      unit: fc.constantFrom(...'{}[]:,"\\\n \t-?&*!|>%@`#01aeu.', 'true', 'null', '---\n', '<<', '\u0000'),
    });
    fc.assert(
      fc.property(noise, (text) => {
        parseManifest(text, { format: 'yaml' });
        const value = parseManifest(text, { format: 'json' });
        let accepted: unknown;
        try {
          accepted = JSON.parse(text);
        } catch {
          expect(value.ok).toBe(false);
          return;
        }
        // A key that is there twice is the one thing that only JSON.parse accepts.
        if (value.ok) expect(value.value).toEqual([accepted]);
        else expect(value.error[0]?.message).toMatch(/is there twice/);
      }),
      { numRuns: 1000 },
    );
  });
});

test('a regular expression is accepted only when it also compiles in JavaScript, but for flags and RE2 words', () => {
  const pieces = [
    'a',
    'b',
    '-',
    '.',
    '^',
    '$',
    '|',
    '(',
    ')',
    '(?:',
    '[',
    '[^',
    ']',
    'a-z',
    '\\d',
    '\\b',
    '\\.',
    '*',
    '+',
    '?',
    '{2}',
    '{2,}',
    '{3,1}',
    '(?=',
    '(?!',
    '\\1',
  ];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 10 }), (text) => {
      const expression = text.join('');
      // A `]` first in a class is ordinary in RE2 and ends the class in JavaScript.
      if (/\[\^?\]/.test(expression) || !inspectRegex(expression).ok) return;
      expect(() => new RegExp(expression)).not.toThrow();
    }),
    { numRuns: 3000 },
  );
});
