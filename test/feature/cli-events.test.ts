import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Ran, type RunOptions, runHere } from '../support/command-line.ts';
import { startFairway, type TestFairway } from '../support/fairway.ts';
import { startToyProxy, type ToyProxy } from '../support/toy-proxy.ts';
import { until } from '../support/until.ts';

// `fairway events` and `fairway audit`, against a real server in this process.

let fairway: TestFairway;
let proxy: ToyProxy;

const run = (line: string, options: RunOptions = {}): Promise<Ran> =>
  runHere(line.split(' '), { ...options, env: { FAIRWAY_SERVER: fairway.url, ...options.env } });

const pool = (algorithm: string) => ({
  kind: 'BackendPool',
  metadata: { name: 'web' },
  spec: { members: [{ address: '10.0.0.1', port: 80 }], algorithm },
});

beforeAll(async () => {
  fairway = await startFairway();
  await fairway.put(
    { kind: 'Fleet', metadata: { name: 'edge' }, spec: {} },
    pool('random'),
    pool('leastRequest'),
    { kind: 'Scope', metadata: { name: 'docs' }, spec: {} },
    { ...pool('random'), metadata: { name: 'web', scope: 'docs' } },
  );
  await fairway.call('DELETE', '/v1/scopes/default/backend-pools/none');
  proxy = await startToyProxy({ xdsPort: fairway.xdsPort, node: 'lb-1', fleet: 'edge' });
  await until('all of it to be told', async () => {
    const { body } = await fairway.call('GET', '/v1/events');
    const { body: audit } = await fairway.call('GET', '/v1/audit?outcome=refused');
    return body.items.length === 2 && audit.items.length === 1;
  });
});

afterAll(async () => {
  proxy?.close();
  await fairway?.close();
});

describe('fairway events', () => {
  it('prints what happened, the newest last', async () => {
    const { code, out, err } = await run('events');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const lines = out.trimEnd().split('\n');
    expect(lines[0]).toMatch(/^LAST +TYPE +REASON +OBJECT +COUNT +MESSAGE$/);
    expect(
      lines
        .slice(1)
        .map((line) => line.replace(/ +/g, ' ').replace(/^\S+ /, ''))
        .toSorted(),
    ).toEqual([
      'Normal NodeRegistered node/lb-1 1 it joined fleet edge',
      'Normal ProxyConnected node/lb-1 1 version 1.0.0 of fleet edge connected',
    ]);
  });

  it.each([
    ['events node/lb-1 --reason NodeRegistered', 1],
    ['events nodes', 2],
    ['events --type Normal --since 1h', 2],
    ['events --limit 1', 1],
  ])('%s chooses', async (line, count) => {
    const { out } = await run(`${line} -o json`);
    expect(JSON.parse(out)).toHaveLength(count);
  });

  it('says so when there are none', async () => {
    expect(await run('events controller/none')).toEqual({ code: 0, out: '', err: 'Nothing happened.\n' });
  });

  it.each([
    ['events widget', 'There is no kind "widget"'],
    ['events node/a/b', '"node/a/b" is neither KIND nor KIND/NAME'],
    ['events --type Bad', 'Bad'],
  ])('%s is a mistake', async (line, words) => {
    const { code, err } = await run(line);
    expect(code).toBe(2);
    expect(err).toContain(words);
  });

  it('goes on with what happens with -w, and ends with Ctrl-C', async () => {
    const stop = new AbortController();
    let out = '';
    const watching = run('events --reason ProxyConnected -w -o json', {
      signal: stop.signal,
      onOutput: (written) => {
        out = written;
      },
    });
    await until('what is there', () => out.split('\n').length === 2);
    const other = await startToyProxy({ xdsPort: fairway.xdsPort, node: 'lb-2', fleet: 'edge' });
    await until('what came', () => out.split('\n').length === 3, { describe: () => out });
    other.close();
    stop.abort();
    expect((await watching).code).toBe(0);
    const told = out.trimEnd().split('\n');
    expect(told.map((line) => JSON.parse(line).object.name)).toEqual(['lb-1', 'lb-2']);
  });
});

describe('fairway audit', () => {
  it('prints who did what, the newest last', async () => {
    const { code, out } = await run('audit');
    expect(code).toBe(0);
    const rows = out
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ {2,}/).slice(1).join(' | '));
    expect(rows[0]).toBe('WHO | FROM | OUTCOME | OBJECTS');
    expect(rows.slice(1)).toEqual(
      expect.arrayContaining([
        'local | 127.0.0.1 | accepted | fleet/edge created',
        'local | 127.0.0.1 | accepted | backend-pool/web created',
        'local | 127.0.0.1 | accepted | backend-pool/web updated',
        'local | 127.0.0.1 | accepted | backend-pool/docs/web created',
        'local | 127.0.0.1 | refused: NotFound | backend-pool/none',
        'lb-1 | 127.0.0.1 | accepted | node/lb-1 created',
      ]),
    );
  });

  it('shows with -o wide what changed, and why something was refused', async () => {
    const { out } = await run('audit pools -o wide');
    expect(out).toContain('    /spec/algorithm: "random" → "leastRequest"\n');
    expect(out).toContain('    deleting BackendPool default/none: there is no such object\n');
    expect(out).toContain('PUT /v1/scopes/:scope/backend-pools/:name');
  });

  it.each([
    ['audit --who lb-1', ['lb-1']],
    ['audit pool/web -n docs', ['web']],
    ['audit --outcome refused', ['none']],
    ['audit --until 2020-01-01T00:00:00Z', []],
    ['audit pools --limit 2', ['web', 'none']],
  ])('%s chooses', async (line, names) => {
    const { out } = await run(`${line} -o json`);
    const records = JSON.parse(out) as { readonly objects: readonly { readonly name: string }[] }[];
    expect(records.flatMap(({ objects }) => objects.map(({ name }) => name))).toEqual(names);
  });

  it('takes as many pages as it needs', async () => {
    for (let n = 0; n < 20; n += 1) await fairway.put(pool(n % 2 === 0 ? 'random' : 'leastRequest'));
    const { out } = await run('audit --limit 1000 -o json');
    const { body } = await fairway.call('GET', '/v1/audit?limit=500');
    expect(JSON.parse(out)).toEqual(body.items.toReversed());
  });

  it('says what the server says of a wrong limit', async () => {
    const { code, err } = await run('audit --limit many');
    expect(code).toBe(1);
    expect(err).toContain('limit must be a whole number');
  });
});
