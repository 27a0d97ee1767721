import { spawn } from 'node:child_process';
import { Etcd3 } from 'etcd3';
import { startOrphanGuard } from '../../src/lib/orphan-guard.ts';
import { debianProgram } from './debian.ts';
import { freePort } from './ports.ts';
import { until } from './until.ts';

/** A real etcd with its defaults (so with an fsync for each write), alone in its cluster, and a client of it. */
export interface RunningEtcd {
  readonly client: Etcd3;
  readonly version: string;
  stop(): Promise<void>;
}

/** Starts one on free ports of loopback; where there is none and none can be installed, the words that say so. */
export async function startEtcd(data: string): Promise<RunningEtcd | { readonly missing: string }> {
  const program = await debianProgram('etcd', 'etcd-server');
  if ('missing' in program) return program;
  const [clientUrl, peerUrl] = [`http://127.0.0.1:${await freePort()}`, `http://127.0.0.1:${await freePort()}`];
  const child = spawn(
    program.path,
    ['--data-dir', data, '--name', 'one', '--initial-cluster', `one=${peerUrl}`].concat([
      ...['--listen-client-urls', clientUrl, '--advertise-client-urls', clientUrl],
      ...['--listen-peer-urls', peerUrl, '--initial-advertise-peer-urls', peerUrl],
    ]),
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let log = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      log += text;
    });
  }
  let over = false;
  const ended = new Promise<void>((resolve) => {
    const end = (): void => {
      over = true;
      resolve();
    };
    child.once('error', (error) => {
      log += error.message;
      end();
    });
    child.once('close', end);
  });
  const guard = child.pid === undefined ? undefined : startOrphanGuard(child.pid);
  const client = new Etcd3({ hosts: clientUrl });
  const stop = async (): Promise<void> => {
    client.close();
    // Nothing in it is kept.
    child.kill('SIGKILL');
    await ended;
    guard?.kill('SIGKILL');
  };
  try {
    const version = await until('etcd to start', async () => over || (await client.maintenance.status()).version, {
      describe: () => log,
    });
    if (version === true) throw new Error(`etcd ended: ${log}`);
    return { client, version, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
