import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CliError } from '../../../src/cli/failure.ts';
import type { Io } from '../../../src/cli/io.ts';
import { lineOf } from '../../../src/cli/manifest-lines.ts';
import { describeFault, readManifests } from '../../../src/cli/manifests.ts';

describe('lineOf', () => {
  const text = `# a comment
apiVersion: fairway/v1
kind: BackendPool
metadata: { name: web }
spec:
  members:
    - { address: 10.0.0.1, port: 80 }
    - address: 10.0.0.2
      port: 81
---
# nothing here
---
kind: Fleet
metadata:
  labels: { "a/b": c, x~y: d }
`;
  it.each([
    [0, '', 2],
    [0, '/kind', 3],
    [0, '/spec/members/0/port', 7],
    [0, '/spec/members/1', 8],
    [0, '/spec/members/1/port', 9],
    [0, '/spec/members/1/weight', 8],
    [0, '/spec/members/7', 6],
    [0, '/nothing', 2],
    [1, '/metadata/labels/a~1b', 15],
    [1, '/metadata/labels/x~0y', 15],
    [2, '', undefined],
  ])('document %d, %s is on line %s', (document, pointer, want) => {
    expect(lineOf(text, document, pointer)).toBe(want);
  });

  it('reads JSON too', () => {
    expect(lineOf('{\n "kind": "Fleet",\n "spec": {\n  "ha": 1\n }\n}\n', 0, '/spec/ha')).toBe(4);
  });
});

describe('readManifests', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'fairway-manifests-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const io = { readStdin: async () => new TextEncoder().encode(fleet('piped')) } as unknown as Io;
  const fleet = (name: string) => `apiVersion: fairway/v1\nkind: Fleet\nmetadata: { name: ${name} }\n`;
  const pool = (name: string) => `apiVersion: fairway/v1\nkind: BackendPool\nmetadata: { name: ${name} }\n`;
  const write = (name: string, text: string | Uint8Array) => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  const names = async (paths: readonly string[], scope = 'default') =>
    (await readManifests(paths, io, scope)).map(({ draft }) => draft.metadata.name);

  it('reads files, documents, standard input and folders in order', async () => {
    const inner = join(folder, 'inner');
    mkdirSync(join(inner, 'deeper'), { recursive: true });
    writeFileSync(join(inner, 'b.yml'), fleet('b'));
    writeFileSync(join(inner, 'a.yaml'), `${fleet('a1')}---\n---\n${fleet('a2')}`);
    writeFileSync(join(inner, 'notes.txt'), 'no manifest');
    writeFileSync(join(inner, 'deeper', 'c.yaml'), fleet('c'));
    expect(await names(['-', inner])).toEqual(['piped', 'a1', 'a2', 'b']);
  });

  it('reads the list that "get -o json" prints', async () => {
    const items = ['x', 'y'].map((name) => ({
      apiVersion: 'fairway/v1',
      kind: 'Fleet',
      metadata: { name, uid: 'u' },
      status: {},
    }));
    const path = write('list.json', JSON.stringify({ apiVersion: 'fairway/v1', kind: 'List', items }));
    expect(await names([path])).toEqual(['x', 'y']);
  });

  it('puts objects that name no scope into the one in use', async () => {
    const [object] = await readManifests([write('pool.yaml', pool('web'))], io, 'team-a');
    expect(object?.draft.metadata.scope).toBe('team-a');
  });

  it('names every fault of every file by its line', async () => {
    const one = write('one.yaml', `${fleet('good')}---\n${fleet('bad')}spec:\n  drainTimout: 5s\n`);
    const two = write('two.yaml', 'kind: [\n');
    const three = write('three.yaml', Uint8Array.from([0x6b, 0xff]));
    const failure = await readManifests([one, two, three], io, 'default').catch((error) => error);
    expect(failure).toBeInstanceOf(CliError);
    expect(failure).toMatchObject({ exitCode: 2, message: '3 faults in the manifests' });
    expect(failure.details).toEqual([
      `${one}:9: Fleet bad: /spec/drainTimout is not a field here; did you mean \`drainTimeout\`?`,
      expect.stringMatching(/two\.yaml: line \d+, column \d+: /),
      `${three}: byte 1 is not valid UTF-8`,
    ]);
  });

  it('refuses what is not there and what is empty', async () => {
    await expect(readManifests([join(folder, 'none.yaml')], io, 'default')).rejects.toThrow(/there is no such file/);
    await expect(readManifests([write('empty.yaml', '# nothing\n')], io, 'default')).rejects.toThrow(/no object/);
  });

  it('places what a server found wrong', async () => {
    const path = write('placed.yaml', `${pool('web')}spec:\n  members: []\n`);
    const [object] = await readManifests([path], io, 'default');
    const fault = { pointer: '/spec/members', message: 'BackendPool default/web: is odd' };
    expect(object && describeFault(object, fault)).toBe(`${path}:5: BackendPool web: /spec/members is odd`);
  });
});
