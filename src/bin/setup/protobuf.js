/**
 * Generates src/gen/ (protobuf-es: JavaScript and declarations) from Envoy's API files, which the development package
 * `@grpc/grpc-js-xds` carries, and from our own below protos/.
 *
 * The files named in protos/envoy.txt and all they import are copied into one folder aside, and only those are
 * compiled: the package also has files whose imports it lacks.
 */

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join, relative, sep } from 'node:path';
import { withAside } from './aside.js';
import { run } from './process.js';
import { requireNode, root } from './project.js';

const protos = join(root, 'protos');
const output = join(root, 'src', 'gen');
const stampFile = join(output, '.stamp');

/** Where imports are looked for, in order: ours shadow the package's (see protos/validate/validate.proto). */
const importFolders = [
  protos,
  ...['envoy-api', 'xds', 'googleapis'].map((name) => join(root, 'node_modules/@grpc/grpc-js-xds/deps', name)),
];

/** Other things that the output depends on: another generator, another result. */
const generators = ['node_modules/@bufbuild/buf/package.json', 'node_modules/@bufbuild/protoc-gen-es/package.json'];

/**
 * @typedef {{ files: Map<string, string>, stamp: string }} Inputs
 * `files` maps import paths to contents, `stamp` is a hash of all that decides the output.
 */

/**
 * Reads everything that goes into src/gen/.
 *
 * @returns {Inputs}
 */
function readInputs() {
  const named = readFileSync(join(protos, 'envoy.txt'), 'utf8')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  /** @type {Map<string, string>} */
  const files = new Map();
  const open = [...named, ...ownFiles(protos)];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (files.has(path) || path.startsWith('google/protobuf/')) continue; // those are known to the compiler
    const content = readProto(path);
    files.set(path, content);
    for (const match of content.matchAll(/^import\s+(?:public\s+)?"([^"]+)";/gm)) open.push(String(match[1]));
  }
  const hash = createHash('sha256');
  for (const path of [...files.keys()].sort()) hash.update(`${path}\0${files.get(path)}\0`);
  for (const name of ['buf.yaml', 'buf.gen.yaml']) hash.update(readFileSync(join(protos, name)));
  for (const name of generators) hash.update(String(JSON.parse(readFileSync(join(root, name), 'utf8')).version));
  return { files, stamp: hash.digest('hex') };
}

/**
 * @param {string} folder
 * @returns {string[]} import paths of our own files
 */
function ownFiles(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return ownFiles(path);
    return entry.name.endsWith('.proto') ? [relative(protos, path).split(sep).join('/')] : [];
  });
}

/**
 * @param {string} path
 * @returns {string}
 */
function readProto(path) {
  for (const folder of importFolders) {
    if (existsSync(join(folder, path))) return readFileSync(join(folder, path), 'utf8');
  }
  throw new Error(`protos/envoy.txt needs ${path}, which is neither below protos/ nor in @grpc/grpc-js-xds`);
}

/**
 * Brings src/gen/ up to date. Call it with the set-up lock held.
 *
 * @param {(text: string) => void} progress told before work starts
 * @returns {Promise<boolean>} false when there was nothing to do
 */
export async function generateProtobuf(progress) {
  const { files, stamp } = readInputs();
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return false;
  progress(`compiling ${files.size} files`);
  await withAside(join(root, '.cache'), 'gen', async (aside) => {
    for (const [path, content] of files) write(join(aside, 'in', path), content);
    for (const name of ['buf.yaml', 'buf.gen.yaml']) write(join(aside, 'in', name), readFileSync(join(protos, name)));
    const node = requireNode();
    await run(node, [join(root, 'node_modules/@bufbuild/buf/bin/buf'), 'generate', '--output', join(aside, 'out')], {
      cwd: join(aside, 'in'),
      env: { PATH: [join(root, 'node_modules/.bin'), dirname(node), process.env['PATH']].join(delimiter) },
    });
    write(join(aside, 'out', '.stamp'), stamp);
    if (existsSync(output)) renameSync(output, join(aside, 'old'));
    renameSync(join(aside, 'out'), output);
  });
  return true;
}

/**
 * @param {string} path
 * @param {string | Uint8Array} content
 */
function write(path, content) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}
