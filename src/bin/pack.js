/**
 * `npm run pack [-- FOLDER]`: makes fairway-VERSION.tgz for installation with npm, in .cache/ unless told otherwise.
 *
 * Node refuses TypeScript below node_modules, so the package holds JavaScript. It also holds the lockfile, less what is
 * only for development, so that an installation gets the very packages that were tested.
 */

import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { extname, join, resolve } from 'node:path';
import { withAside } from './setup/aside.js';
import { npm } from './setup/packages.js';
import { run } from './setup/process.js';
import { root } from './setup/project.js';

/** @typedef {{ dev?: boolean, devDependencies?: unknown }} LockedPackage */

const destination = resolve(process.argv[2] ?? join(root, '.cache'));

/**
 * Compiles src/ to JavaScript with the same folders.
 *
 * @param {string} aside where the compiler's settings go
 * @param {string} staged
 */
async function compile(aside, staged) {
  mkdirSync(staged, { recursive: true });
  const config = {
    extends: '../../tsconfig.json',
    compilerOptions: { noEmit: false, rootDir: '../..', outDir: 'package', sourceMap: false, declaration: false },
    include: ['../../src'],
  };
  writeFileSync(join(aside, 'tsconfig.json'), JSON.stringify(config));
  await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', aside]);
}

/**
 * What is used as it is: generated code, files that are no code, the manual.
 *
 * @param {string} staged
 */
function copyRest(staged) {
  const source = join(root, 'src');
  for (const path of filesBelow(source)) {
    const name = path.slice(source.length + 1);
    const generated = name.startsWith('gen') && name.endsWith('.js');
    if (generated || !['.ts', '.js'].includes(extname(name))) cpSync(path, join(staged, 'src', name));
  }
  for (const name of ['envoy', 'README.md']) {
    cpSync(join(root, name), join(staged, name), { recursive: true });
  }
}

/** @param {string} staged */
function writeManifests(staged) {
  writeJson(join(staged, 'package.json'), without(readJson('package.json'), ['devDependencies', 'scripts']));
  const lock = readJson('package-lock.json');
  const packages = /** @type {Record<string, LockedPackage>} */ (lock['packages']);
  const kept = Object.entries(packages)
    .filter(([, { dev }]) => dev !== true)
    .map(([path, locked]) => [path, path === '' ? without(locked, ['devDependencies']) : locked]);
  writeJson(join(staged, 'npm-shrinkwrap.json'), { ...lock, packages: Object.fromEntries(kept) });
}

/**
 * @param {object} value
 * @param {readonly string[]} keys
 * @returns {object}
 */
function without(value, keys) {
  return Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key)));
}

/**
 * @param {string} folder
 * @returns {string[]}
 */
function filesBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/**
 * @param {string} name
 * @returns {Record<string, unknown>}
 */
function readJson(name) {
  return JSON.parse(readFileSync(join(root, name), 'utf8'));
}

/**
 * @param {string} path
 * @param {unknown} value
 */
function writeJson(path, value) {
  writeFileSync(path, `${JSON.stringify(value, undefined, 2)}\n`);
}

/**
 * @param {string} aside
 * @returns {Promise<string>} path of the tarball
 */
async function pack(aside) {
  const staged = join(aside, 'package');
  await compile(aside, staged);
  copyRest(staged);
  writeManifests(staged);
  mkdirSync(destination, { recursive: true });
  const name = await npm(['pack', '--silent', '--pack-destination', destination], staged);
  return join(destination, name.trim());
}

try {
  console.log(await withAside(join(root, '.cache'), 'pack', pack));
} catch (error) {
  console.error(`pack: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}
