import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startBackends } from '../../src/demo/backends.ts';
import { createChildren, runFairway } from '../../src/demo/children.ts';
import { freePorts } from '../../src/demo/free-ports.ts';
import { createClient, exchange } from '../../src/demo/traffic.ts';
import { createWait } from '../../src/demo/until.ts';

// The parts of the demo that touch the system, each by itself. The whole is in test/peer/demo.test.ts.

const quiet = new AbortController().signal;
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairway-demo-test-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('backends say who they are, and close with connections open', async () => {
  const [first = 0, second = 0, third = 0] = await freePorts(3);
  const backends = await startBackends([
    { port: first, protocol: 'HTTP' },
    { port: second, protocol: 'TCP' },
    { port: third, protocol: 'HTTP' },
  ]);
  expect(backends.map(({ name }) => name)).toEqual(['backend-1', 'echo', 'backend-2']);
  const client = createClient({ port: third, connections: 1 });
  expect(await client.get('shop.example', '/x?y=1')).toMatchObject({
    status: 200,
    backend: 'backend-2',
    body: 'backend-2: GET /x?y=1 for shop.example\n',
    serial: undefined,
  });
  expect(await exchange(second, 'hello')).toBe('hello');
  const open = connect(second, '127.0.0.1');
  await once(open, 'connect');
  await Promise.all(backends.map((backend) => backend.close()));
  await expect(client.get('shop.example', '/')).rejects.toThrow();
  client.close();
  open.destroy();
});

it('a backend whose port is taken closes those before it', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const [free = 0] = await freePorts(1);
  const needed = [
    { port: free, protocol: 'HTTP' },
    { port, protocol: 'HTTP' },
  ] as const;
  await expect(startBackends(needed)).rejects.toThrow('EADDRINUSE');
  taken.close();
  const again = await startBackends(needed.slice(0, 1));
  await Promise.all(again.map((backend) => backend.close()));
});

it('a child writes to its log, and its end is told unless it was stopped', async () => {
  const children = createChildren(folder);
  const wait = createWait({ limitMs: 20_000, signal: quiet });
  const ends: string[] = [];
  const child = children.start('version', ['version'], (words) => ends.push(words));
  const lines: string[] = [];
  child.onLine((line) => lines.push(line));
  await wait(() => (ends.length > 0 && lines.length > 0 ? true : undefined), 'the child to end');
  expect(ends).toEqual(['it ended with exit code 0']);
  await wait(() => (child.tail(1)[0] === lines.at(-1) ? true : undefined), 'the log');
  expect(child.isRunning).toBe(false);

  const ports = await freePorts(2);
  const listen = ports.map((port) => `127.0.0.1:${port}`);
  const args = ['server', '--store', 'memory', '--listen', `${listen[0]}`, '--xds-listen', `${listen[1]}`];
  const server = children.start('server', args, (words) => ends.push(words));
  let ready = false;
  server.onLine((line) => {
    if (line.includes('"server_ready"')) ready = true;
  });
  await wait(() => ready || undefined, 'the server to be ready');
  await children.stop();
  expect(server.isRunning).toBe(false);
  expect(ends).toHaveLength(1);
});

it('a command is run to its end, with what it printed', async () => {
  const outcome = await runFairway(['get', 'nonsense'], { cwd: folder, env: { NO_COLOR: '1' }, signal: quiet });
  expect(outcome.code).toBe(2);
  expect(outcome.output).toContain('nonsense');
});

it('waiting ends at its limit with what was the case instead, or when it is told to', async () => {
  const wait = createWait({ limitMs: 30, signal: quiet });
  await expect(wait(() => undefined, 'nothing')).rejects.toThrow('waited 0.03 s for nothing');
  const told = new AbortController();
  const waiting = createWait({ limitMs: 20_000, signal: told.signal })(() => undefined, 'nothing');
  told.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow(/enough|aborted/);
});
