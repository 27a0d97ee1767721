/**
 * A container engine of our own: `dockerd` from Debian with its own socket, its own data and no rules in the firewall of
 * the machine, so that it never meets another one. What was built stays in its data folder in the user's cache, which
 * makes the second run a quick one; one process at a time uses it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ContainerRuntimeClient, getContainerRuntimeClient } from 'testcontainers';
import { withLock } from '../../../src/bin/setup/lock.js';
import { cacheFolders } from '../../../src/lib/envoy-binary.js';
import { startOrphanGuard } from '../../../src/lib/orphan-guard.ts';
import { debianProgram } from '../debian.ts';
import type { Missing } from '../etcd.ts';
import { until } from '../until.ts';

export type Docker = ContainerRuntimeClient['container']['dockerode'];

export interface ContainerEngine {
  readonly docker: Docker;
  hasImage(tag: string): Promise<boolean>;
  /** An image of one layer from a tar of a root filesystem. */
  importImage(tag: string, rootfs: NodeJS.ReadableStream): Promise<void>;
  /** Builds from a Dockerfile; fails with the end of what the builder said. */
  build(options: BuildOptions): Promise<void>;
  /** Ends the engine with all that runs in it. */
  stop(): Promise<void>;
}

export interface BuildOptions {
  readonly tag: string;
  /** Tar of the context. */
  readonly context: NodeJS.ReadableStream;
  /** Path of the Dockerfile in the context. */
  readonly dockerfile: string;
  readonly target?: string;
  readonly arguments?: Readonly<Record<string, string>>;
}

/** What former builds may leave behind for the next ones. */
const keptBuildStorage = '4GB';

/** How long containers have that the test has left running. */
const shutdownSeconds = 2;

/** Starts it, and has testcontainers use it for the rest of this process; or the words for `context.skip(…)`. */
export async function startContainerEngine(): Promise<ContainerEngine | Missing> {
  const program = await debianProgram('dockerd', 'docker.io');
  if ('missing' in program) return program;
  if (process.getuid?.() !== 0) return { missing: 'dockerd needs root' };
  const data = join(cacheFolders(process.env)[0] as string, 'docker');
  const unlock = await lock(`${data}.lock`);
  // A short path: that of a socket may have 107 bytes.
  const folder = await mkdtemp(join(tmpdir(), 'fairway-docker-'));
  const cleanUp = async (): Promise<void> => {
    await rm(folder, { recursive: true, force: true });
    await unlock();
  };
  const socket = join(folder, 'docker.sock');
  const daemon = await startDaemon(program.path, { folder, data, socket });
  const ready = await until('dockerd to start', async () => daemon.ended() || (await answers(socket)), {
    limitMs: 60_000,
  }).catch((error: Error) => error);
  if (ready instanceof Error || daemon.ended()) {
    await daemon.stop();
    await cleanUp();
    return { missing: `dockerd does not run here: ${daemon.lastWords()}` };
  }
  const stop = async (): Promise<void> => {
    await daemon.stop();
    await cleanUp();
  };
  let docker: Docker;
  try {
    process.env['DOCKER_HOST'] = `unix://${socket}`;
    // The reaper is an image of a registry, and what is left over goes with the engine.
    process.env['TESTCONTAINERS_RYUK_DISABLED'] = 'true';
    // Nothing is published; it would look for our own address where this machine is a container itself.
    process.env['TESTCONTAINERS_HOST_OVERRIDE'] = 'localhost';
    docker = (await getContainerRuntimeClient()).container.dockerode;
    // Of a run that was killed.
    await removeLeftovers(docker);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    docker,
    hasImage: async (tag) => (await docker.listImages({ filters: { reference: [tag] } })).length > 0,
    async importImage(tag, rootfs) {
      const [repo = tag, version = 'latest'] = tag.split(':');
      await follow(docker, await docker.importImage(rootfs, { repo, tag: version }));
    },
    async build({ tag, context, dockerfile, target, arguments: buildargs = {} }) {
      const output = await docker.buildImage(context, {
        t: tag,
        dockerfile,
        buildargs,
        ...(target === undefined ? {} : { target }),
        // The machine's own network, on which its package registries are known to be reached.
        networkmode: 'host',
        // BuildKit: stages that do not need each other are built at the same time, and none is packed in between.
        version: '2',
      });
      await follow(docker, output);
    },
    async stop() {
      try {
        await removeLeftovers(docker);
      } finally {
        await stop();
      }
    },
  };
}

function answers(socketPath: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    get({ socketPath, path: '/_ping', agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    }).once('error', reject);
  });
}

async function lock(path: string): Promise<() => Promise<void>> {
  const taken = Promise.withResolvers<void>();
  const given = Promise.withResolvers<void>();
  const holding = withLock(
    path,
    () => undefined,
    () => {
      taken.resolve();
      return given.promise;
    },
  );
  await Promise.race([taken.promise, holding]);
  return async () => {
    given.resolve();
    await holding;
  };
}

interface Daemon {
  ended(): boolean;
  lastWords(): string;
  stop(): Promise<void>;
}

async function startDaemon(
  path: string,
  { folder, data, socket }: { readonly folder: string; readonly data: string; readonly socket: string },
): Promise<Daemon> {
  await mkdir(data, { recursive: true });
  const config = join(folder, 'daemon.json');
  const settings = {
    hosts: [`unix://${socket}`],
    'data-root': data,
    'exec-root': join(folder, 'exec'),
    pidfile: join(folder, 'docker.pid'),
    // Networks are made by the tests; nothing of theirs leaves the machine.
    bridge: 'none',
    iptables: false,
    ip6tables: false,
    'ip-masq': false,
    'shutdown-timeout': shutdownSeconds,
    'log-level': 'warn',
    builder: { gc: { enabled: true, defaultKeepStorage: keptBuildStorage } },
  };
  await writeFile(config, JSON.stringify(settings));
  const child = spawn(path, ['--config-file', config], { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  let isOver = false;
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-20_000);
  });
  const closed = Promise.race([once(child, 'close'), once(child, 'error')]).then(() => {
    isOver = true;
  });
  const guard: ChildProcess | undefined = child.pid === undefined ? undefined : startOrphanGuard(child.pid);
  return {
    ended: () => isOver,
    lastWords: () => log.trim().split('\n').at(-1) ?? '',
    async stop() {
      child.kill('SIGTERM');
      await closed;
      guard?.kill('SIGKILL');
    },
  };
}

/** The engine is ours alone, so is everything in it; images stay. */
async function removeLeftovers(docker: Docker): Promise<void> {
  for (const { Id } of await docker.listContainers({ all: true })) {
    await docker.getContainer(Id).remove({ force: true, v: true });
  }
  await docker.pruneNetworks();
  for (const { Name } of (await docker.listVolumes()).Volumes) await docker.getVolume(Name).remove({ force: true });
  await docker.pruneImages({ filters: { dangling: ['true'] } });
}

/** Reads what the engine says to the end of it; rejects when that is a failure. */
async function follow(docker: Docker, output: NodeJS.ReadableStream): Promise<void> {
  const words: string[] = [];
  await new Promise<void>((resolve, reject) => {
    docker.modem.followProgress(
      output,
      (error) => {
        if (error === null) resolve();
        else reject(new Error(`the container engine failed: ${error.message}\n${words.slice(-30).join('\n')}`));
      },
      (event: Readonly<Record<string, unknown>>) => {
        words.push(...wordsOf(event));
      },
    );
  });
}

/** BuildKit tells what it does in protobuf (moby.buildkit.v1.StatusResponse): the texts in it are enough here. */
function wordsOf(event: Readonly<Record<string, unknown>>): string[] {
  const { stream, aux, id } = event;
  if (typeof stream === 'string') return [stream.trimEnd()];
  if (id !== 'moby.buildkit.trace' || typeof aux !== 'string') return [];
  return (
    Buffer.from(aux, 'base64')
      .toString('latin1')
      .match(/[\t\n\x20-\x7e]{12,}/g) ?? []
  );
}
