import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Ran, type RunOptions, runHere } from '../support/command-line.ts';
import { startFairway, type TestFairway } from '../support/fairway.ts';
import { until } from '../support/until.ts';

// The commands on objects, against a real server in this process.

let fairway: TestFairway;
let folder: string;

beforeAll(async () => {
  fairway = await startFairway();
  folder = mkdtempSync(join(tmpdir(), 'fairway-cli-'));
});
afterAll(async () => {
  await fairway?.close();
  rmSync(folder, { recursive: true, force: true });
});

const run = (line: string, options: RunOptions = {}): Promise<Ran> =>
  runHere(line.split(' '), { ...options, env: { FAIRWAY_SERVER: fairway.url, ...options.env } });

function manifest(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const shop = `apiVersion: fairway/v1
kind: Fleet
metadata: { name: edge }
---
apiVersion: fairway/v1
kind: BackendPool
metadata: { name: web, labels: { team: web } }
spec:
  members: [{ address: 10.0.0.1, port: 8080 }]
---
apiVersion: fairway/v1
kind: VirtualService
metadata: { name: shop, labels: { team: web } }
spec:
  fleet: edge
  listeners:
    - name: web
      port: 8443
      protocol: HTTP
      hosts: [shop.example]
      defaultAction: { forward: [{ pool: web }] }
`;
let file: string;

beforeEach(async () => {
  file = manifest('shop.yaml', shop);
  await run(`delete -f ${file} --ignore-not-found`);
});

describe('apply', () => {
  it('says what became of each object, and nothing the second time', async () => {
    expect(await run(`apply -f ${file}`)).toEqual({
      code: 0,
      out: 'fleet/edge created\nbackend-pool/web created\nvirtual-service/shop created\n',
      err: '',
    });
    expect((await run(`apply -f ${file}`)).out).toBe(
      'fleet/edge unchanged\nbackend-pool/web unchanged\nvirtual-service/shop unchanged\n',
    );
  });

  it('reads standard input, and changes nothing in a dry run', async () => {
    expect(await run('apply -f - --dry-run', { stdin: shop })).toMatchObject({
      code: 0,
      out: expect.stringContaining('virtual-service/shop created (dry run)'),
    });
    expect((await run('get vs shop')).code).toBe(1);
  });

  it('names file and line of what is wrong before anything is sent', async () => {
    const bad = manifest('bad.yaml', shop.replace('port: 8443', 'prot: 8443'));
    const { code, out, err } = await run(`apply -f ${bad}`);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(
      `${bad}:18: VirtualService shop: /spec/listeners/0/prot is not a field here; did you mean \`port\`?`,
    );
    expect((await run('get pool web')).code).toBe(1);
  });

  it('places what only the server can find, with the request by which its log knows it', async () => {
    const elsewhere = manifest('elsewhere.yaml', shop.replace('name: shop,', 'name: shop, scope: nowhere,'));
    const { code, err } = await run(`apply -f ${elsewhere}`);
    expect(code).toBe(1);
    expect(err).toContain(`${elsewhere}:13: VirtualService shop: /metadata/scope there is no scope nowhere`);
    expect(err).toMatch(/^Request \S+\.$/m);
  });

  it('warns of what is taken but does not work yet', async () => {
    const { code, err } = await run(`apply -f ${manifest('missing.yaml', shop.replace('pool: web', 'pool: wbe'))}`);
    expect(code).toBe(0);
    expect(err).toContain('warning: virtual-service/shop: ResolvedRefs is False, ReferenceMissing');
  });

  it('prunes what is chosen and is not in the manifests', async () => {
    await run(`apply -f ${file}`);
    const less = manifest('less.yaml', shop.split('---')[0] ?? '');
    expect((await run(`apply -f ${less} --prune -l team=web`)).out).toBe(
      'fleet/edge unchanged\nvirtual-service/shop deleted\nbackend-pool/web deleted\n',
    );
    expect(await run(`apply -f ${less} --prune`)).toMatchObject({ code: 2, err: expect.stringContaining('selector') });
  });

  it('applies each by itself when told, and says which one failed', async () => {
    const mixed = manifest('mixed.yaml', shop.replace('name: shop,', 'name: shop, scope: nowhere,'));
    const { code, out, err } = await run(`apply -f ${mixed} --no-atomic`);
    expect({ code, out }).toEqual({ code: 1, out: 'fleet/edge created\nbackend-pool/web created\n' });
    expect(err).toContain(`${mixed}:11: VirtualService shop: `);
  });

  it('waits, and says why it was in vain', async () => {
    const { code, err } = await run(`apply -f ${file} --wait --timeout 200ms`);
    expect(code).toBe(4);
    expect(err).toMatch(/virtual-service\/shop did not get there in time: Programmed is Unknown, NoProxies/);
  });
});

describe('diff', () => {
  it('shows objects, conditions, resources, and ends with 1', async () => {
    const { code, out } = await run(`diff -f ${file}`);
    expect(code).toBe(1);
    expect(out).toContain(
      'virtual-service default/shop would be created\n--- /dev/null\n+++ virtual-service default/shop\n',
    );
    expect(out).toContain('+      port: 8443\n');
    expect(out).toMatch(/^ {2}\+ Listener \S+8443/m);
  });

  it('ends with 0 and says nothing where there is no difference', async () => {
    await run(`apply -f ${file}`);
    expect(await run(`diff -f ${file}`)).toEqual({ code: 0, out: '', err: '' });
  });

  it('shows a change with its surroundings and what comes of it', async () => {
    await run(`apply -f ${file}`);
    const changed = manifest('changed.yaml', shop.replace('pool: web', 'pool: gone').replace('10.0.0.1', '10.0.0.2'));
    const { code, out } = await run(`diff -f ${changed}`, { columns: 100 });
    expect(code).toBe(1);
    expect(out).toContain('\u001b[31m-    - address: 10.0.0.1\u001b[39m\n\u001b[32m+    - address: 10.0.0.2\u001b[39m');
    expect(out).toMatch(/virtual-service default\/shop ResolvedRefs: True ResolvedRefs → .*False ReferenceMissing/);
    expect(out).toMatch(/^ {2}.*- Cluster default\/web/m);
    // Nothing was changed by it.
    expect((await run('get pool web -o json')).out).toContain('10.0.0.1');
  });

  it('never ends with 1 when it could not find out', async () => {
    const bad = manifest('bad.yaml', shop.replace('name: shop,', 'name: shop, scope: nowhere,'));
    expect((await run(`diff -f ${bad}`)).code).toBe(2);
  });
});

describe('get', () => {
  beforeEach(async () => {
    await run(`apply -f ${file}`);
  });

  it('prints tables by any name of a kind', async () => {
    for (const word of ['vs', 'virtual-services', 'VirtualService']) {
      const { code, out } = await run(`get ${word}`);
      expect(code).toBe(0);
      expect(out).toMatch(
        /^NAME +FLEET +LISTENERS +HOSTS +PROGRAMMED +REASON +AGE\nshop +edge +8443\/HTTP +shop\.example +Unknown +NoProxies +\d+s\n$/,
      );
    }
  });

  it('prints several kinds with their names', async () => {
    const { out } = await run('get vs,pools');
    expect(out).toMatch(/^virtual-service\/shop /m);
    expect(out).toMatch(/^backend-pool\/web /m);
  });

  it('prints YAML and JSON that can be applied again', async () => {
    for (const format of ['yaml', 'json']) {
      const { out } = await run(`get vs,pool -o ${format}`);
      const again = await run('apply -f -', { stdin: out });
      expect(again).toEqual({ code: 0, out: 'virtual-service/shop unchanged\nbackend-pool/web unchanged\n', err: '' });
    }
  });

  it('prints names, and chooses by label and by scope', async () => {
    expect((await run('get vs -o name -l team=web')).out).toBe('virtual-service/shop\n');
    expect(await run('get vs -o name -l team=other')).toMatchObject({
      code: 0,
      out: '',
      err: expect.stringContaining('none'),
    });
    expect((await run('get vs -n system -o name')).out).toBe('');
    expect((await run('get vs -A')).out).toMatch(/^SCOPE +NAME.*\ndefault +shop/);
  });

  it('fits into the terminal, in colour', async () => {
    const { out } = await run('get vs -o wide', { columns: 60 });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are what is meant
    const lines = out.replaceAll(/\u001b\[\d+m/g, '').split('\n');
    expect(out).toContain('\u001b[33mUnknown\u001b[39m');
    expect(lines[1]).toContain('shop');
    expect(lines[1]).toContain('…');
  });

  it('shows what is there and says what is not, and what was meant', async () => {
    const one = await run('get vs shop shpo');
    expect(one.code).toBe(1);
    expect(one.out).toMatch(/^shop /m);
    expect(one.err).toContain('Did you mean "shop"?');
    expect((await run('get vs shop -n system')).err).toContain('There is one in scope default.');
  });

  it('goes on with what changes', async () => {
    const end = new AbortController();
    let seen = '';
    const watching = run('get pools --watch', {
      signal: end.signal,
      onOutput(out) {
        seen = out;
      },
    });
    await until('the pool', () => /^web +1 /m.test(seen), { describe: () => seen });
    const more = shop.replace('port: 8080 }', 'port: 8080 }, { address: 10.0.0.9, port: 1 }');
    expect((await run('apply -f -', { stdin: more })).code).toBe(0);
    await until('its second member', () => /^web +2 /m.test(seen), { describe: () => seen });
    await run('delete pool web --force');
    await until('its end', () => seen.includes('backend-pool/web deleted'), { describe: () => seen });
    end.abort();
    expect((await watching).code).toBe(0);
    expect(seen.match(/^NAME/gm)).toHaveLength(1);
  });
});

describe('describe, delete and wait', () => {
  beforeEach(async () => {
    await run(`apply -f ${file}`);
  });

  it('describe everything of an object', async () => {
    const { code, out } = await run('describe vs shop');
    expect(code).toBe(0);
    for (const part of [
      'Kind:         VirtualService',
      'Labels:       team=web',
      '      port: 8443',
      'Programmed',
      'NoProxies',
    ]) {
      expect(out).toContain(part);
    }
  });

  it('delete by name, and not what others need unless told', async () => {
    const refused = await run('delete pool web');
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toContain('VirtualService default/shop');
    expect(refused.err).toContain('--force');
    expect(await run('delete pool/web vs/shop --force')).toMatchObject({
      code: 0,
      out: 'backend-pool/web deleted\nvirtual-service/shop deleted\n',
    });
    expect((await run('delete vs shop')).code).toBe(1);
    expect((await run('delete vs shop --ignore-not-found')).code).toBe(0);
  });

  it('delete by manifest, who refers first', async () => {
    expect(await run(`delete -f ${file}`)).toEqual({
      code: 0,
      out: 'virtual-service/shop deleted\nbackend-pool/web deleted\nfleet/edge deleted\n',
      err: '',
    });
  });

  it('delete nothing that nobody named', async () => {
    expect(await run('delete vs')).toMatchObject({ code: 2, out: '' });
    expect((await run('get vs shop')).code).toBe(0);
  });

  it('wait for a condition, for a deletion, and no longer than told', async () => {
    expect(await run('wait vs shop --for=condition=Accepted')).toMatchObject({
      code: 0,
      out: 'virtual-service/shop is Accepted\n',
    });
    expect((await run('wait vs shop --for=delete --timeout 100ms')).code).toBe(4);
    const waiting = run('wait vs/shop --for=delete --timeout 10s');
    await run('delete vs shop');
    expect(await waiting).toMatchObject({ code: 0, out: 'virtual-service/shop is gone\n' });
  });
});

describe('edit', () => {
  const editor = (script: string) => {
    const path = join(folder, 'editor.sh');
    writeFileSync(path, `#!/bin/sh\n${script}\n`);
    chmodSync(path, 0o755);
    return { env: { EDITOR: path } };
  };
  beforeEach(async () => {
    await run(`apply -f ${file}`);
  });

  it('writes what the editor leaves', async () => {
    expect(await run('edit pool web', editor(`sed -i 's/8080/9090/' "$1"`))).toMatchObject({
      code: 0,
      out: 'backend-pool/web updated\n',
    });
    expect((await run('get pool web -o yaml')).out).toContain('port: 9090');
  });

  it('shows the operator nothing but what is theirs', async () => {
    const copy = join(folder, 'seen.yaml');
    expect((await run('edit pool web', editor(`cp "$1" ${copy}`))).out).toBe('backend-pool/web unchanged\n');
    const seen = readFileSync(copy, 'utf8');
    for (const field of ['uid', 'revision', 'status']) expect(seen).not.toContain(field);
  });

  it('changes nothing when the text is wrong or the editor gives up', async () => {
    expect(await run('edit pool web', editor(`sed -i 's/port/prot/' "$1"`))).toMatchObject({
      code: 2,
      err: expect.stringMatching(/web\.yaml:\d+: BackendPool web: \/spec\/members\/0\/prot/),
    });
    expect((await run('edit pool web', editor('exit 3'))).code).toBe(2);
    expect((await run('get pool web -o yaml')).out).toContain('port: 8080');
  });

  it('does not overwrite what somebody else wrote meanwhile', async () => {
    const meanwhile = join(folder, 'meanwhile.mjs');
    writeFileSync(
      meanwhile,
      `const headers = { 'content-type': 'application/merge-patch+json' };
      const body = JSON.stringify({ spec: { slowStart: '5s' } });
      await fetch('${fairway.url}/v1/scopes/default/backend-pools/web', { method: 'PATCH', headers, body });`,
    );
    const { code, err } = await run(
      'edit pool web',
      editor(`${process.execPath} ${meanwhile} && sed -i 's/8080/9090/' "$1"`),
    );
    expect(code).toBe(1);
    expect(err).toContain('it is at revision');
    expect((await run('get pool web -o yaml')).out).toContain('port: 8080');
  });
});

describe('status and proxies', () => {
  it('say how it is', async () => {
    await run(`apply -f ${manifest('missing.yaml', shop.replace('pool: web', 'pool: wbe'))}`);
    const { code, out } = await run('status');
    expect(code).toBe(0);
    expect(out).toMatch(/^Server: +http\S+ ready$/m);
    expect(out).toMatch(/^Leader: +\S+, term 1, for \d+s$/m);
    expect(out).toMatch(/^\S+ +Ready +api,xds,control +\d+ +0 +0 +\d+ MiB +\d+ % +\d/m);
    expect(out).toMatch(/^Proxies: +none connected$/m);
    expect(out).toMatch(/^ {2}virtual-service default\/shop: ReferenceMissing /m);
    expect((await run('proxies')).err).toContain('No proxy is connected');
    expect((await run('proxies nobody')).code).toBe(1);
    expect((await run('proxies --compare')).out).toContain('0 proxies are being compared');
    expect((await run('proxies nobody --compare')).err).toContain('it is not connected');
  });
});

describe('completion', () => {
  const complete = async (...words: readonly string[]) =>
    (await runHere(['__complete', '--', ...words], { env: { FAIRWAY_SERVER: fairway.url } })).out
      .split('\n')
      .slice(0, -1);

  beforeEach(async () => {
    await run(`apply -f ${file}`);
  });

  it.each([
    [['ge'], ['get\tshow objects, or watch them change']],
    [
      ['get', 'v'],
      ['vs', 'virtual-services'],
    ],
    [['get', 'vs,po'], ['vs,pool']],
    [['get', 'vs', ''], ['shop']],
    [['get', 'vs', 'shop', ''], []],
    [['get', 'vs/'], ['vs/shop']],
    [['get', 'vs', '-n', 'system', ''], []],
    [['get', '-o', 'j'], ['json']],
    [['get', 'vs', '-n', 'sys'], ['system']],
    [['apply', '-f', ''], [':files']],
    [['envoy', '--fleet', 'e'], ['edge']],
    [['completion', 'z'], ['zsh']],
    [['server', '--config', ''], [':files']],
    [['get', '--sel'], ['--selector\tonly objects with these labels: a=b,c!=d,e,!f']],
  ])('of %j', async (words, want) => {
    expect(await complete(...words)).toEqual(want);
  });
});
