/** Laws of reading manifests: whatever became of one on its way here, it is read or refused, with the place. */
import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseManifest, parseObject } from '../../src/model/index.ts';

const folder = new URL('../../envoy/examples/', import.meta.url);
const examples = readdirSync(folder).map((name) => readFileSync(new URL(name, folder), 'utf8'));

/** A piece of one that is replaced: by nothing, by what means something in YAML or JSON, by another piece. */
const piece = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    '\t',
    '\n',
    '\n---\n',
    '\n...\n',
    ': ',
    '- ',
    '&a ',
    '*a',
    '<<: *a',
    '!!binary ',
    '!x ',
    '|\n',
  ),
  fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    '"',
    "'",
    '#',
    '%YAML 1.1\n',
    '? ',
    '\u0000',
    '\ufeff',
    '\u2028',
    '\ud800',
    '1e999',
  ),
  fc.string({ unit: 'binary', maxLength: 8 }),
);

const edit = fc.record({ at: fc.double({ min: 0, max: 1, noNaN: true }), length: fc.nat(40), piece });

/** An example after a few edits, in YAML or, as its documents are in JSON, in that. */
const spoilt = fc
  .record({
    example: fc.constantFrom(...examples),
    edits: fc.array(edit, { minLength: 1, maxLength: 6 }),
    asJson: fc.boolean(),
  })
  .map(({ example, edits, asJson }) => {
    const read = parseManifest(example, { format: 'yaml' });
    const text = asJson && read.ok ? JSON.stringify({ objects: read.value }, undefined, 1) : example;
    const format: 'json' | 'yaml' = asJson ? 'json' : 'yaml';
    const change = (before: string, { at, length, piece: by }: (typeof edits)[number]): string => {
      const from = Math.floor(at * before.length);
      return before.slice(0, from) + by + before.slice(from + length);
    };
    return { text: edits.reduce(change, text), format };
  });

test('a manifest that was spoilt is read, or refused with line and column', () => {
  fc.assert(
    fc.property(spoilt, ({ text, format }) => {
      const documents = parseManifest(text, { format });
      if (documents.ok) {
        for (const document of documents.value) expect(typeof parseObject(document).ok).toBe('boolean');
        return;
      }
      expect(documents.error.length).toBeGreaterThan(0);
      const lines = text.split('\n');
      for (const { message } of documents.error) {
        const [, line, column] = /^line (\d+), column (\d+): ./s.exec(message) ?? [];
        expect(Number(line), message).toBeGreaterThan(0);
        expect(Number(line), message).toBeLessThanOrEqual(lines.length);
        expect(Number(column), message).toBeGreaterThan(0);
        expect(Number(column), message).toBeLessThanOrEqual((lines[Number(line) - 1] as string).length + 1);
      }
    }),
  );
});
