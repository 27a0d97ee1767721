import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { get as httpGet, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { serverDefaults } from '../../src/config/index.ts';
import { runExecutable } from '../support/command-line.ts';
import { pathOf } from '../support/fairway.ts';
import { type ServerProcess, type ServerProcessOptions, startServerProcess } from '../support/server-process.ts';
import { until } from '../support/until.ts';

// The server as a process: what it prints, holds and ends with. Its figures are measured by `npm run bench -- start`.

let folder: string;
let running: ServerProcess[] = [];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairway-start-'));
});
afterEach(async () => {
  await Promise.all(running.map((server) => server.stop()));
  running = [];
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function start(options: Omit<ServerProcessOptions, 'data'> & { readonly data: string }): Promise<ServerProcess> {
  const server = await startServerProcess({ ...options, data: join(folder, options.data) });
  running.push(server);
  return server;
}

async function status(server: ServerProcess, path: string): Promise<number> {
  return (await fetch(`http://${server.address}${path}`)).status;
}

describe('a server', () => {
  it('is ready when it says so, and logs one JSON object per line', async () => {
    const server = await start({ data: 'ready' });
    expect(await status(server, '/readyz')).toBe(200);
    expect(await status(server, '/healthz')).toBe(200);
    const events = server
      .output()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { readonly event?: string });
    expect(events.map(({ event }) => event)).toContain('server_ready');
  });

  it('ends by SIGTERM with code 0, soon, also with an open watch', async () => {
    const server = await start({ data: 'stop' });
    const watch = await open(server, '/v1/scopes?watch=true');
    const ended = new Promise((resolve) => watch.once('close', resolve));
    watch.once('error', () => undefined).resume();
    expect(await server.stop(10_000)).toEqual({ code: 0, signal: null });
    await ended;
    expect(server.output()).toContain('"server_stopped"');
  });

  it('finds what an earlier one stored', async () => {
    const first = await start({ data: 'kept' });
    const put = { apiVersion: 'fairway/v1', kind: 'Scope', metadata: { name: 'team' }, spec: {} };
    const path = pathOf('Scope', 'team');
    const answer = await fetch(`http://${first.address}${path}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(put),
    });
    expect(answer.status).toBe(201);
    await first.stop();
    expect(await status(await start({ data: 'kept' }), path)).toBe(200);
  });

  it('is refused data that another one holds, and says so', async () => {
    const holder = await start({ data: 'held' });
    const refusal: unknown = await start({ data: 'held' }).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(String(refusal)).toMatch(/the server ended with 1\b/);
    expect(String(refusal)).toMatch(/^fairway server: .*the data folder is in use by another process$/m);
    expect(await status(holder, '/readyz')).toBe(200);
  });

  it('prints no key that it was given, neither a good nor a bad one', async () => {
    const server = await start({ data: 'secret', flags: ['--log-level', 'trace'] });
    const [good, bad] = ['p256.key.pem', 'p384.key.pem'].map(certificateFile) as [string, string];
    const chain = certificateFile('p256.pem');
    const path = pathOf('Certificate', 'shop');
    const put = async (spec: unknown): Promise<{ readonly status: number; readonly text: string }> => {
      const body = JSON.stringify({ apiVersion: 'fairway/v1', kind: 'Certificate', metadata: { name: 'shop' }, spec });
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(`http://${server.address}${path}`, { method: 'PUT', headers, body });
      return { status: answer.status, text: await answer.text() };
    };
    const answers = [
      await put({ chain, key: good }),
      await put({ chain, key: bad }),
      await put({ chain: good, key: 7 }),
    ];
    expect(answers.map((answer) => answer.status)).toEqual([201, 422, 422]);
    await server.stop();
    const written = server.output() + answers.map(({ text }) => text).join('');
    // The log is the one that has something to hide.
    expect(server.output()).toContain('"level":20');
    const lines = [good, bad].flatMap((pem) => pem.split('\n').filter((line) => line !== '' && !line.startsWith('-')));
    expect(lines.length).toBeGreaterThan(4);
    expect(lines.filter((line) => written.includes(line))).toEqual([]);
  });

  it.skipIf(process.platform !== 'linux')('holds less than 180 MB when it is idle', async () => {
    const compileCache = join(folder, 'cache');
    // The first one of an installation also holds what strips types, and what has just been compiled.
    await (await start({ data: 'idle', compileCache })).stop();
    const server = await start({ data: 'idle', compileCache });
    const small = (): boolean => server.residentBytes() < 180e6;
    await until('the memory to be below 180 MB', small, { describe: () => server.residentBytes() / 1e6 });
  });
});

describe('the command line of a server', () => {
  it('prints the configuration as it would be, and starts nothing', async () => {
    const data = join(folder, 'printed');
    const ran = await runExecutable(['server', '--data', data, '--print-config'], {
      env: { FAIRWAY_LOG_LEVEL: 'warn' },
    });
    expect(ran).toMatchObject({ code: 0, err: '' });
    expect(JSON.parse(ran.out)).toEqual({ ...serverDefaults, data, logLevel: 'warn' });
    expect(existsSync(data)).toBe(false);
  });

  it.each([
    [['--lisen', '127.0.0.1:0'], 'unknown option --lisen; did you mean --listen?'],
    [['--Store=memory'], 'unknown option --Store; did you mean --store?'],
    [['--print-confg'], 'unknown option --print-confg; did you mean --print-config?'],
    [['--elephant'], 'unknown option --elephant, see --help'],
    [['--store', 'sqlit'], '--store: must be one of sqlite, memory, etcd; did you mean sqlite?'],
    [['--log-level', 'wran'], 'did you mean warn?'],
    [['--listen', '127.0.0.1'], '--listen: must be host:port'],
    [['--listen'], "'--listen <value>' argument missing"],
    [['--listen', '0.0.0.0:0', '--store', 'memory'], '--listen: 0.0.0.0 is not loopback'],
    [['here'], "Unexpected argument 'here'"],
    [['--config', '/nonexistent/fairway.yaml'], '/nonexistent/fairway.yaml'],
  ])('refuses %j with code 2 and the words %j', async (flags, words) => {
    const ran = await runExecutable(['server', ...flags]);
    expect(ran).toMatchObject({ code: 2, out: '' });
    expect(ran.err).toContain(words);
    expect(ran.err).toMatch(/^fairway server: /);
    // Words for people: no stack.
    expect(ran.err).not.toMatch(/^ +at /m);
  });
});

function certificateFile(name: string): string {
  return readFileSync(new URL(`../support/certificates/${name}`, import.meta.url), 'utf8');
}

/** The answer to a GET, as soon as it begins. */
function open(server: ServerProcess, path: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    httpGet(`http://${server.address}${path}`, { agent: false }, resolve).once('error', reject);
  });
}
