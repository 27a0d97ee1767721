import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Ran, runExecutable } from '../support/command-line.ts';
import { type ServerProcess, startServerProcess } from '../support/server-process.ts';

// A server and the command line as processes of one user, who says nothing about who they are.

// Each starts several processes, and the machine may be busy.
vi.setConfig({ testTimeout: 120_000 });

let folder: string;
let running: ServerProcess[] = [];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairway-access-'));
});
afterEach(async () => {
  await Promise.all(running.map((server) => server.stop()));
  running = [];
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const state = () => join(folder, 'state');

async function start(data: string, flags: readonly string[] = []): Promise<ServerProcess> {
  const options = { data: join(folder, data), state: state(), authentication: 'required', flags } as const;
  const server = await startServerProcess(options);
  running.push(server);
  return server;
}

const whoami = (server: { address: string }, env: Record<string, string> = {}): Promise<Ran> =>
  runExecutable(['whoami'], { env: { FAIRWAY_SERVER: server.address, XDG_STATE_HOME: state(), ...env } });

const tokenOf = (data: string) => readFileSync(join(folder, data, 'admin-token'), 'utf8').trim();

describe('the first token', () => {
  it('is made once, found by the command line, and good after a restart', async () => {
    const first = await start('kept');
    expect(statSync(join(folder, 'kept', 'admin-token')).mode & 0o777).toBe(0o600);
    expect((await whoami(first)).out).toContain('admin (token)');
    const token = tokenOf('kept');
    expect(first.output()).toContain('"admin_token_made"');
    expect(first.output()).not.toContain(token);
    await first.stop();
    const second = await start('kept');
    expect(second.output()).not.toContain('"admin_token_made"');
    expect(tokenOf('kept')).toBe(token);
    expect((await whoami(second)).out).toContain('admin (token)');
  });

  it('is made anew when it is asked for, for whoever has lost them all', async () => {
    const first = await start('lost');
    const old = tokenOf('lost');
    await first.stop();
    rmSync(join(folder, 'lost', 'admin-token'));
    const second = await start('lost');
    expect((await whoami(second)).code).toBe(1);
    await second.stop();
    const third = await start('lost', ['--new-admin-token']);
    expect(tokenOf('lost')).not.toBe(old);
    const { out } = await whoami(third);
    expect(out).toContain('admin (token)');
    // What the former binding gave stands as it was.
    expect(out).toMatch(/^admin-2 +admin/m);
  });

  it('of a server without a database goes with it', async () => {
    const server = await start('passing', ['--store', 'memory']);
    expect((await whoami(server)).out).toContain('admin (token)');
    expect(existsSync(join(folder, 'passing', 'admin-token'))).toBe(false);
    const [, file = ''] = /"tokenFile":"([^"]+)"/.exec(server.output()) ?? [];
    expect(existsSync(file)).toBe(true);
    await server.stop();
    expect(existsSync(file)).toBe(false);
  });

  it('is not sent to whoever has the port once the server is gone', async () => {
    const server = await start('crashed');
    const port = Number(server.address.split(':').at(-1));
    process.kill(server.pid, 'SIGKILL');
    await server.stop();
    let told: string | undefined;
    const impostor = createServer((request, response) => {
      told = request.headers.authorization;
      response.writeHead(401, { 'content-type': 'application/problem+json' }).end('{"title":"who?"}');
    });
    await new Promise<void>((resolve) => impostor.listen(port, '127.0.0.1', resolve));
    expect((await whoami({ address: server.address })).code).toBe(1);
    await new Promise((resolve) => impostor.close(resolve));
    expect(told).toBeUndefined();
  });
});

describe('a server that asks nobody', () => {
  it('takes everybody for local, and makes no token', async () => {
    const server = await startServerProcess({ data: join(folder, 'open'), state: state() });
    running.push(server);
    expect((await whoami(server)).out).toContain('local (local)');
    expect(existsSync(join(folder, 'open', 'admin-token'))).toBe(false);
  });

  it('listens on loopback alone', async () => {
    const flags = ['--listen', '0.0.0.0:0', '--store', 'memory', '--authentication', 'none'];
    const ran = await runExecutable(['server', ...flags]);
    expect(ran).toMatchObject({ code: 2, out: '' });
    expect(ran.err).toMatch(/no TLS .* and no authentication/);
  });
});
