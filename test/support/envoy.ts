import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBootstrap } from '../../src/cli/bootstrap.ts';
import { findEnvoy } from '../../src/lib/envoy-binary.js';
import type { Protocol } from '../../src/xds/index.ts';
import { until, within } from './until.ts';

/** A real Envoy, started with the bootstrap that Fairway gives to its proxies. */
export interface RunningEnvoy {
  /** `127.0.0.1:port` of the admin interface. */
  readonly adminAddress: string;
  /** What the admin interface answers: `/stats?filter=…`, `/config_dump`. */
  admin(path: string): Promise<string>;
  /** A counter or gauge; 0 while it is not there. */
  stat(name: string): Promise<number>;
  log(): string;
  stop(): Promise<void>;
}

export interface EnvoyOptions {
  readonly node: string;
  readonly fleet: string;
  /** Of a controller on loopback, or of all of them. */
  readonly xdsPort: number | readonly number[];
  readonly drainSeconds?: number;
  /** `sotw`: asks by state-of-the-world ADS instead of delta. */
  readonly protocol?: Protocol;
  /** Folder with the secrets of a member; absent: plain text. */
  readonly secrets?: string;
}

/** A whole dump of a large configuration takes seconds. */
const adminLimitMs = 30_000;

export const envoyBinary = findEnvoy()?.path;

export async function startEnvoy(options: EnvoyOptions): Promise<RunningEnvoy> {
  const { node, fleet, xdsPort, drainSeconds = 1, protocol = 'delta', secrets } = options;
  if (envoyBinary === undefined) throw new Error('there is no Envoy on this machine: npm run setup');
  const folder = mkdtempSync(join(tmpdir(), 'fairway-envoy-'));
  const bootstrap = join(folder, 'bootstrap.yaml');
  const adminAddress = join(folder, 'admin');
  const ours = createBootstrap({
    node,
    fleet,
    controllers: [xdsPort].flat().map((port) => ({ host: '127.0.0.1', port })),
    admin: { host: '127.0.0.1', port: 0 },
    maxConnections: 1000,
    ...(secrets === undefined ? {} : { secrets }),
  });
  writeFileSync(bootstrap, protocol === 'delta' ? ours : ours.replace('DELTA_GRPC', 'GRPC'));
  const child = spawn(
    envoyBinary,
    ['-c', bootstrap, '--concurrency', '1', '--disable-hot-restart', '--admin-address-path', adminAddress].concat([
      '--drain-time-s',
      String(drainSeconds),
      '--component-log-level',
      'misc:error',
      '--log-level',
      'warning',
    ]),
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let log = '';
  child.stdout.on('data', (chunk: Buffer) => (log += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()));
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  let over = false;
  ended.then(
    () => (over = true),
    () => undefined,
  );

  const stop = async (): Promise<void> => {
    child.kill('SIGKILL');
    await within('an Envoy to end', ended);
    rmSync(folder, { recursive: true, force: true });
  };
  const address = await until('an Envoy to start', () => over || read(adminAddress), { describe: () => log });
  if (address === true) throw new Error(`Envoy ended: ${log}`);
  const admin = async (path: string): Promise<string> =>
    (await fetch(`http://${address}${path}`, { signal: AbortSignal.timeout(adminLimitMs) })).text();
  return {
    adminAddress: address,
    admin,
    async stat(name) {
      const text = await admin(`/stats?filter=^${name.replaceAll('.', '\\.')}$`);
      return Number(/: (\d+)/.exec(text)?.[1] ?? 0);
    },
    log: () => log,
    stop,
  };
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8') || undefined;
  } catch {
    return undefined;
  }
}
