import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { envoyVersion, findEnvoy, makeEnvoyCache } from '../../src/lib/envoy-binary.js';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairway-envoy-'));
});

afterEach(() => rmSync(folder, { recursive: true }));

/** A program that answers `--version` as Envoy does. */
function program(name: string, version = envoyVersion): string {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `#!/bin/sh\necho "$0  version: 0123abcd/${version}/Clean/RELEASE/BoringSSL"\n`);
  chmodSync(path, 0o755);
  return path;
}

const cached = `cache/envoy-${envoyVersion}/envoy`;

describe('findEnvoy', () => {
  it('takes the named one first, of whatever version', () => {
    const path = program('mine', '1.2.3');
    program(cached);
    expect(findEnvoy({ FAIRWAY_ENVOY: path, FAIRWAY_CACHE: join(folder, 'cache') })).toEqual({
      path,
      source: 'FAIRWAY_ENVOY',
    });
  });

  it('refuses a named one that cannot be executed', () => {
    const missing = join(folder, 'missing');
    expect(() => findEnvoy({ FAIRWAY_ENVOY: missing })).toThrow(`FAIRWAY_ENVOY names ${missing}`);
    expect(() => findEnvoy({ FAIRWAY_ENVOY: folder })).toThrow('not an executable file');
  });

  it('takes the downloaded one before the path', () => {
    const path = program(cached);
    program('bin/envoy');
    const env = { FAIRWAY_CACHE: join(folder, 'cache'), PATH: join(folder, 'bin') };
    expect(findEnvoy(env)).toEqual({ path, source: 'cache' });
  });

  it('takes from the path the first one of the right version', () => {
    program('old/envoy', '1.39.2');
    const path = program('new/envoy', envoyVersion.replace(/\d+$/, '7'));
    const env = { FAIRWAY_CACHE: join(folder, 'cache'), PATH: `${join(folder, 'old')}::${join(folder, 'new')}` };
    expect(findEnvoy(env)).toEqual({ path, source: 'PATH' });
  });

  it('finds nothing where there is nothing', () => {
    program('old/envoy', '1.39.2');
    const env = { FAIRWAY_CACHE: join(folder, 'cache'), PATH: join(folder, 'old') };
    expect(findEnvoy(env)).toBeUndefined();
  });
});

describe('makeEnvoyCache', () => {
  it.each([
    ['FAIRWAY_CACHE', { FAIRWAY_CACHE: 'a', XDG_CACHE_HOME: 'b', HOME: 'c' }, 'a'],
    ['XDG_CACHE_HOME', { XDG_CACHE_HOME: 'b', HOME: 'c' }, 'b/fairway'],
    ['HOME', { HOME: 'c' }, 'c/.cache/fairway'],
  ] as const)('is below %s', (_name, env, want) => {
    const absolute = Object.fromEntries(Object.entries(env).map(([key, name]) => [key, join(folder, name)]));
    const path = makeEnvoyCache(absolute);
    expect(path).toBe(join(folder, want, `envoy-${envoyVersion}`));
    expect(existsSync(path)).toBe(true);
  });

  it('says what to do when a wanted folder cannot be made', () => {
    const file = program('file');
    expect(() => makeEnvoyCache({ FAIRWAY_CACHE: file })).toThrow('Set FAIRWAY_CACHE');
  });

  it('falls back to the folder of the project when there is no home to write to', () => {
    const file = program('file');
    expect(makeEnvoyCache({ HOME: file })).toBe(join(process.cwd(), '.cache', `envoy-${envoyVersion}`));
  });
});
