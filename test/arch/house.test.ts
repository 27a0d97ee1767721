import { readdirSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { emptyNames, topLevel } from './house.ts';
import { type Tree, violations } from './rules.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { dependencies } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as {
  dependencies: Record<string, string>;
};
const options = { dependencies: Object.keys(dependencies) };

/** All TypeScript and JavaScript below a folder of the repository, by path below it. */
function read(folder: string): Tree {
  return new Map(
    readdirSync(`${root}${folder}`, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.(ts|js)$/.test(entry.name))
      .map((entry) => relative(`${root}${folder}`, `${entry.parentPath}/${entry.name}`))
      .filter((path) => !path.startsWith('gen/'))
      .map((path) => [path, readFileSync(`${root}${folder}/${path}`, 'utf8')]),
  );
}

describe('the house', () => {
  it('is built to its plan', () => {
    const tree = read('src');
    expect(tree.size).toBeGreaterThan(10);
    expect(violations(tree, options)).toEqual([]);
  });

  it('has no file in test/ and bench/ whose name says nothing', () => {
    const paths = ['test', 'bench'].flatMap((folder) => [...read(folder).keys()]);
    expect(paths.filter((path) => emptyNames.test(path.replace(/^.*\/|\..*$/g, '')))).toEqual([]);
  });

  it('has nothing else at the top of the repository', () => {
    const notCommitted = /^(node_modules|coverage|.*\.tgz)$/;
    const names = readdirSync(root).filter((name) => !name.startsWith('.') && !notCommitted.test(name));
    expect(names.filter((name) => !topLevel.includes(name))).toEqual([]);
  });
});

const header = `/** ${'What this room is for, how many of each thing exist, why it is built so. '.repeat(2)} */\n`;
const door = `${header}export {};`;

/** What the rules say about a tree of files, each of which gets what it needs besides the fault in question. */
function fault(files: Record<string, string>): string[] {
  return violations(new Map(Object.entries(files)), options);
}

describe('the rules find', () => {
  const cases: readonly [name: string, files: Record<string, string>, want: readonly string[]][] = [
    ['nothing in an empty house', {}, []],
    [
      'nothing in what goes downwards through doors',
      {
        'control/index.ts': `${header}import { a } from '../graph/index.ts'; import type { S } from '../store/store.ts';`,
        'graph/index.ts': `${header}import { b } from '../model/index.ts'; export { a } from './a.ts';`,
        'graph/a.ts': `import { c } from '../lib/c.ts';`,
        'model/index.ts': door,
        'store/index.ts': door,
        'store/store.ts': 'export type S = 1;',
        'lib/c.ts': `import { hash } from 'node:crypto';`,
      },
      [],
    ],
    [
      'an import upwards, also of a type only',
      { 'model/index.ts': `${header}import type { V } from '../view/index.ts';`, 'view/index.ts': door },
      ['model/index.ts:2 imports view (ring 2), which model (ring 1) may not'],
    ],
    [
      'an import inside of a type',
      { 'model/index.ts': `${header}export type V = import('../view/index.ts').V;`, 'view/index.ts': door },
      ['model/index.ts:2 imports view (ring 2), which model (ring 1) may not'],
    ],
    [
      'a re-export',
      { 'lib/a.ts': `export * from '../model/index.ts';`, 'model/index.ts': door },
      ['lib/a.ts:1 imports model (ring 1), which lib (ring 0) may not'],
    ],
    [
      'a lazy import upwards',
      { 'graph/index.ts': `${header}await import('../plan/index.ts');`, 'plan/index.ts': door },
      ['graph/index.ts:2 imports plan (ring 3), which graph (ring 3) may not'],
    ],
    [
      'shells that import each other',
      { 'api/index.ts': `${header}import '../control/index.ts';`, 'control/index.ts': door },
      ['api/index.ts:2 imports control (ring 4), which api (ring 4) may not'],
    ],
    [
      'the stores behind the interface',
      { 'api/index.ts': `${header}import '../store/index.ts';`, 'store/index.ts': door },
      ['api/index.ts:2 imports store (ring 4), which api (ring 4) may not'],
    ],
    [
      'the client of etcd in another store',
      { 'store/index.ts': door, 'store/memory.ts': `import type { Etcd3 } from 'etcd3';` },
      ['store/memory.ts:1 imports etcd3, which other files of store do'],
    ],
    [
      'a Fairway noun in xds',
      { 'xds/index.ts': `${header}import '../model/index.ts';`, 'model/index.ts': door },
      ['xds/index.ts:2 imports model (ring 1), which xds (ring 3) may not'],
    ],
    [
      'a way past a door',
      { 'graph/index.ts': `${header}import '../model/pool.ts';`, 'model/index.ts': door, 'model/pool.ts': '' },
      ['graph/index.ts:2 imports model/pool.ts past the door model/index.ts'],
    ],
    [
      'a way past the door of an inner room',
      { 'server/index.ts': `${header}import '../xds/io/pump.ts';`, 'xds/io/index.ts': door, 'xds/io/pump.ts': '' },
      ['server/index.ts:2 imports xds/io/pump.ts past the door xds/io/index.ts'],
    ],
    [
      'the doors of io rooms at any depth',
      {
        'agent/main.ts': `${header}import './bgp/io/index.ts'; import './io/socket.ts';`,
        'agent/bgp/io/index.ts': door,
        'agent/io/index.ts': door,
        'agent/io/socket.ts': '',
      },
      ['agent/main.ts:2 imports agent/io/socket.ts past the door agent/io/index.ts'],
    ],
    [
      'io in a machine',
      { 'agent/index.ts': `${header}import './io/index.ts';`, 'agent/io/index.ts': door },
      ['agent/index.ts:2 imports agent/*io (ring 4), which agent (ring 3) may not'],
    ],
    [
      'the server in the CLI, unless it is lazy',
      {
        'cli/main.ts': `${header}import '../server/index.ts';\nawait import('../server/index.ts');`,
        'server/index.ts': door,
      },
      ['cli/main.ts:2 imports server at once: only import() may reach it from cli'],
    ],
    [
      'a view in the CLI',
      { 'cli/main.ts': `${header}await import('../view/index.ts');`, 'view/index.ts': door },
      ['cli/main.ts:2 imports view (ring 2), which cli (ring 5) may not'],
    ],
    [
      'the world outside in a pure room',
      { 'graph/index.ts': `${header}import 'node:fs'; import type { Logger } from 'pino';` },
      ['graph/index.ts:2 imports node:fs, but graph is pure', 'graph/index.ts:2 imports pino, but graph is pure'],
    ],
    [
      'a package away from home',
      { 'control/index.ts': `${header}import 'fastify';` },
      ['control/index.ts:2 imports fastify, which lives in api'],
    ],
    [
      'a package that is only there for development',
      { 'lib/a.ts': `import 'fast-check';` },
      ['lib/a.ts:1 imports fast-check, which an installed Fairway does not have'],
    ],
    [
      'a second caller of the encoder',
      {
        'translate/index.ts': `${header}import { create, toBinary } from '@bufbuild/protobuf';`,
        'translate/encode.ts': `import { toBinary } from '@bufbuild/protobuf';`,
      },
      ['translate/index.ts:2 imports toBinary, which only translate/encode.ts may'],
    ],
    [
      'a computed import',
      { 'lib/a.ts': 'const name = process.argv[2] ?? ""; await import(name);' },
      ['lib/a.ts:1 imports a name computed at run time'],
    ],
    ['what is not there', { 'lib/a.ts': `import './b.ts';` }, ['lib/a.ts:1 imports ./b.ts, which is not there']],
    [
      'a way out of the house',
      { 'lib/a.ts': `import '../../test/b.ts';` },
      ['lib/a.ts:1 imports ../../test/b.ts, which is outside of the house'],
    ],
    ['a new room without a plan', { 'attic/a.ts': '' }, ['attic/a.ts is in no room of the plan']],
    ['a room without a door', { 'graph/a.ts': '' }, ['graph/index.ts is missing: its room has no door']],
    [
      'a door that says nothing',
      { 'graph/index.ts': '/** The graph. */ export {};', 'plan/index.ts': 'export {};' },
      [
        'graph/index.ts does not say at its top what the room is for',
        'plan/index.ts does not say at its top what the room is for',
      ],
    ],
    ['a name that says nothing', { 'lib/utils.ts': '' }, ['lib/utils.ts has a name that says nothing']],
    [
      'a cycle, through types and lazy imports too',
      {
        'lib/a.ts': `import type { B } from './b.ts';`,
        'lib/b.ts': `export type C = import('./c.ts').C;`,
        'lib/c.ts': `await import('./a.ts');`,
      },
      ['cycle: lib/a.ts → lib/b.ts → lib/c.ts → lib/a.ts'],
    ],
  ];

  it.each(cases)('%s', (_name, files, want) => {
    expect(fault(files)).toEqual(want);
  });
});
