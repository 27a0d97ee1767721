/**
 * The images that a Dockerfile begins with, made on this machine: where tests run there is no registry of images. Debian
 * comes from its packages, Node and npm from npm, Envoy and etcd are those of the other tests.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withAside } from '../../../src/bin/setup/aside.js';
import { npm } from '../../../src/bin/setup/packages.js';
import { run } from '../../../src/bin/setup/process.js';
import { findEnvoy } from '../../../src/lib/envoy-binary.js';
import { debianProgram } from '../debian.ts';
import type { Missing } from '../etcd.ts';
import type { ContainerEngine } from './engine.ts';

export const repository = fileURLToPath(new URL('../../..', import.meta.url));

const suite = 'bookworm';
const npmVersion = '11.19.1';

/** Made anew when its number is another one. */
const images = {
  base: `fairway-test/debian:${suite}-1`,
  node: `fairway-test/node:${process.versions.node}-npm-${npmVersion}-1`,
  envoy: 'fairway-test/envoy:1',
  etcd: 'fairway-test/etcd:1',
} as const;

/** Where Debian keeps the CAs that it trusts: those of this machine are what its registries are reached with. */
const trustStore = '/etc/ssl/certs/ca-certificates.crt';

/** Tags of images that stand in for those of registries: Debian, the same with Node and npm, Envoy, etcd. */
export async function makeImages(engine: ContainerEngine): Promise<typeof images | Missing> {
  const programs = {
    debootstrap: await debianProgram('debootstrap', 'debootstrap'),
    etcd: await debianProgram('etcd', 'etcd-server'),
    etcdctl: await debianProgram('etcdctl', 'etcd-client'),
  };
  for (const program of Object.values(programs)) if ('missing' in program) return program;
  const { debootstrap, etcd, etcdctl } = programs as Record<keyof typeof programs, { readonly path: string }>;
  const envoy = findEnvoy();
  if (envoy === undefined) return { missing: 'there is no Envoy on this machine: npm run setup' };
  const layered = async (tag: string, from: string, fill: (folder: string) => Promise<string>): Promise<void> => {
    if (await engine.hasImage(tag)) return;
    await withAside(tmpdir(), 'fairway-image', async (folder) => {
      await writeFile(join(folder, 'Dockerfile'), `FROM ${from}\n${await fill(folder)}`);
      await engine.build({ tag, context: tarOf(folder, ['.']), dockerfile: 'Dockerfile' });
    });
  };

  if (!(await engine.hasImage(images.base))) {
    const failure = await makeBase(engine, debootstrap.path).catch((error: Error) => error);
    if (failure !== undefined) return { missing: `no image of Debian can be made here: ${failure.message}` };
  }
  await layered(images.node, images.base, async (folder) => {
    await cp(process.execPath, join(folder, 'node'));
    await cp(trustStore, join(folder, basename(trustStore)));
    await npm(['install', '--prefix', folder, '--no-save', '--no-audit', '--no-fund', `npm@${npmVersion}`], folder);
    return [
      `COPY node /usr/local/bin/`,
      `COPY node_modules/npm /usr/local/lib/npm`,
      `COPY ${basename(trustStore)} ${trustStore}`,
      `ENV NODE_EXTRA_CA_CERTS=${trustStore}`,
      'RUN ln -s ../lib/npm/bin/npm-cli.js /usr/local/bin/npm',
    ].join('\n');
  });
  await layered(images.envoy, 'scratch', async (folder) => {
    await cp(envoy.path, join(folder, 'envoy'));
    return 'COPY envoy /usr/local/bin/envoy';
  });
  await layered(images.etcd, images.base, async (folder) => {
    for (const { path } of [etcd, etcdctl]) await cp(path, join(folder, basename(path)), { dereference: true });
    return 'COPY etcd etcdctl /usr/local/bin/';
  });
  return images;
}

/** The least of Debian, and the library that Node wants and slim images lack. */
async function makeBase(engine: ContainerEngine, debootstrap: string): Promise<void> {
  await withAside(tmpdir(), 'fairway-debian', async (folder) => {
    const rootfs = join(folder, 'rootfs');
    await run(debootstrap, ['--variant=minbase', '--include=libatomic1', suite, rootfs]);
    for (const cache of ['var/cache/apt', 'var/lib/apt/lists']) {
      await rm(join(rootfs, cache), { recursive: true, force: true });
      await mkdir(join(rootfs, cache));
    }
    await engine.importImage(images.base, tarOf(rootfs, ['.']));
  });
}

/** What a build of the repository sees: .dockerignore names it, and the builder keeps to that. */
export async function repositoryContext(): Promise<NodeJS.ReadableStream> {
  const lines = (await readFile(join(repository, '.dockerignore'), 'utf8')).split('\n');
  const taken = lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
  return tarOf(repository, ['.dockerignore', ...taken]);
}

function tarOf(folder: string, names: readonly string[]): NodeJS.ReadableStream {
  const child = spawn('tar', ['-C', folder, '--one-file-system', '-c', ...names], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  void once(child, 'close').then(([code]) => {
    if (code !== 0) child.stdout.destroy(new Error(`tar of ${folder} ended with ${code}`));
  });
  return child.stdout;
}
