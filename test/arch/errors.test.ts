import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { errorCodes } from '../../src/lib/errors.ts';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

/** Rows of the table under "Error codes": `| code | HTTP | meaning |`. */
function documented(): { code: string; http: number; meaning: string }[] {
  const section = readme.split(/^##+ Error codes$/m)[1]?.split(/^#/m)[0] ?? '';
  return [...section.matchAll(/^\| `(\w+)` \| (\d+) \| (.+) \|$/gm)].map(([, code, http, meaning]) => ({
    code: String(code),
    http: Number(http),
    meaning: String(meaning),
  }));
}

describe('error codes', () => {
  it('stand in the README as in the code, in the same order', () => {
    const coded = Object.entries(errorCodes).map(([code, { http, title }]) => ({ code, http, title }));
    expect(documented().map(({ code, http }) => ({ code, http }))).toEqual(
      coded.map(({ code, http }) => ({ code, http })),
    );
  });

  it('have a meaning that begins with the title', () => {
    const wrong = documented().filter(({ code, meaning }) => {
      const title = errorCodes[code as keyof typeof errorCodes]?.title;
      return title === undefined || !meaning.startsWith(title);
    });
    expect(wrong).toEqual([]);
  });
});
