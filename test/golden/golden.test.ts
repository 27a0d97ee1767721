import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { lint } from '../../src/translate/index.ts';
import { createWorld } from '../support/world.ts';
import { caseNames, outFolder, readCase, render, worldOf } from './cases.ts';

/** `npm run golden` writes what is made now as what is wanted; the difference is for a person to read. */
const write = process.env['FAIRWAY_GOLDEN'] === 'write';

describe('golden', () => {
  test.each(caseNames)('%s', (name) => {
    const world = worldOf(name);
    expect(lint(world.resources())).toEqual([]);
    const made = render(world, readCase(name));
    const folder = `${outFolder}/${name}`;
    if (write) {
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(folder, { recursive: true });
      for (const [file, text] of made) writeFileSync(`${folder}/${file}`, text);
      return;
    }
    const wanted = existsSync(folder) ? readdirSync(folder).sort() : [];
    expect([...made.keys()].sort(), 'the files of the case').toEqual(wanted);
    for (const [file, text] of made) expect(text, file).toBe(readFileSync(`${folder}/${file}`, 'utf8'));
  });

  test('no expectation is left of a case that is gone', () => {
    const orphans = readdirSync(outFolder).filter((name) => !caseNames.includes(name));
    if (write) for (const name of orphans) rmSync(`${outFolder}/${name}`, { recursive: true });
    else expect(orphans).toEqual([]);
  });

  test.each(caseNames)('%s: equal bytes when written at once, and when every object is written again', (name) => {
    const world = worldOf(name);
    const objects = readCase(name);
    const atOnce = createWorld();
    atOnce.apply(...objects);
    expect(versions(atOnce)).toEqual(versions(world));
    for (const object of [...objects].reverse()) world.apply(object);
    expect(versions(world)).toEqual(versions(atOnce));
  });
});

function versions(world: ReturnType<typeof createWorld>): string[] {
  return world
    .resources()
    .map(({ type, name, hash, audience, needs }) => `${type} ${name} ${hash} ${audience} ${JSON.stringify(needs)}`)
    .sort();
}
