import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LoadOptions, LoadReport, Tally } from '../support/containers/client-load.ts';
import { buildsOf, type ComposeProject, readComposeFile, startCompose } from '../support/containers/compose.ts';
import { type ContainerEngine, startContainerEngine } from '../support/containers/engine.ts';
import { makeImages, repositoryContext } from '../support/containers/images.ts';
import { until } from '../support/until.ts';

// envoy/deploy as users have it: its images are built, the services of its compose file started, the shop applied from
// the client, and containers killed one by one while the client asks both Envoys and all controllers.

const composeFile = fileURLToPath(new URL('../../envoy/deploy/compose.yaml', import.meta.url));
const loadSource = readFileSync(new URL('../support/containers/client-load.ts', import.meta.url), 'utf8');

/** A first run makes images from packages; later ones take minutes less. */
const setupLimitMs = 900_000;

/** What is missing where no container runs. */
let missing: string | undefined;
let engine: ContainerEngine;
let project: ComposeProject;

beforeAll(async () => {
  const started = await startContainerEngine();
  if ('missing' in started) {
    missing = started.missing;
    return;
  }
  engine = started;
  const images = await makeImages(engine);
  if ('missing' in images) {
    missing = images.missing;
    return;
  }
  const file = readComposeFile(composeFile, {
    ETCD_IMAGE: images.etcd,
    FAIRWAY_DATA_KEYS: Buffer.alloc(32, 7).toString('base64'),
  });
  for (const [tag, { dockerfile, target }] of buildsOf(file)) {
    const bases = { BUILD_IMAGE: images.node, BASE_IMAGE: images.base, ENVOY_IMAGE: images.envoy };
    await engine.build({ tag, context: await repositoryContext(), dockerfile, target, arguments: bases });
  }
  project = await startCompose(engine, file);
}, setupLimitMs);

afterAll(() => engine?.stop());

/** The project, unless it cannot be here. */
function running(skip: (note: string) => void): ComposeProject {
  if (missing !== undefined) skip(missing);
  return project;
}

/** What a command in a container prints; fails when it fails. */
async function output(container: string, ...command: string[]): Promise<string> {
  const ran = await project.container(container).exec(command);
  expect(ran.exitCode, ran.output).toBe(0);
  return ran.output;
}

const controllers = ['controller-1', 'controller-2', 'controller-3'];
const envoys = ['envoy-1', 'envoy-2'];

/** What the client has to speak to controllers. */
const caFile = '/run/invitations/ca.pem';
const tokenFile = '/run/controller-1/admin-token';

describe('a deployment', () => {
  test('runs as nobody in particular, on a root filesystem that nobody writes to', async ({ skip }) => {
    running(skip);
    for (const name of [...controllers, ...envoys, 'client']) {
      expect(await output(name, 'id', '-u')).toBe('65532\n');
      const status = await output(name, 'cat', '/proc/1/status');
      expect(status).toMatch(/^CapEff:\s+0+$/m);
      expect(status).toMatch(/^CapBnd:\s+0+$/m);
      expect(status).toMatch(/^NoNewPrivs:\s+1$/m);
      const { exitCode } = await project.container(name).exec(['touch', '/opt/fairway/anything', '/anything']);
      expect(exitCode).not.toBe(0);
      expect((await output(name, 'cat', '/proc/mounts')).split('\n')).toContainEqual(
        expect.stringMatching(/^overlay \/ overlay ro,/),
      );
    }
  });

  test('keeps the example for one machine to its network', async ({ skip }) => {
    running(skip);
    // As the head of the compose file says.
    const [, apply = ''] = /exec -T client sh -c "(.*)"$/m.exec(readFileSync(composeFile, 'utf8')) ?? [];
    expect(await output('client', 'sh', '-c', apply)).toContain('virtual-service/shop created');
    for (const name of envoys) await output('client', 'fairway', 'wait', 'node', name, '--for=condition=Connected');
    await output('client', 'fairway', 'wait', 'pool', 'web');
    await output('client', 'fairway', 'wait', 'vs', 'shop');
  });

  test.for(['controller-2', 'the leader', 'etcd-2', 'the leader of etcd', 'envoy-1'])(
    'goes on without %s, and takes it back',
    async (victim, { skip }) => {
      running(skip);
      const name = await named(victim);
      await withLoad(async (load) => {
        const killedAt = Date.now();
        await project.container(name).kill();
        await load.goesOn((target) => target !== name);
        await until('somebody to decide', leader, { everyMs: 200 });
        await project.container(name).restart();
        await load.goesOn(() => true);
        await load.stop();
        load.expectNoFailure({ but: name, from: killedAt, to: Date.now() });
      });
    },
  );
});

/** Name of the container behind a role. */
async function named(role: string): Promise<string> {
  if (role === 'the leader') return until('a leader', leader, { everyMs: 200 });
  if (role !== 'the leader of etcd') return role;
  const endpoints = ['etcd-1', 'etcd-2', 'etcd-3'].map((name) => `http://${name}:2379`).join(',');
  const status = await output('etcd-1', 'etcdctl', '--endpoints', endpoints, 'endpoint', 'status');
  // http://etcd-1:2379, 8211f1d0f64f3269, 3.4.23, 20 kB, true, …
  const found = status.split('\n').find((line) => line.split(', ')[4] === 'true');
  return new URL((found as string).split(',', 1)[0] as string).hostname;
}

/** The controller that decides and is there. */
async function leader(): Promise<string | undefined> {
  const shown = 'console.log(JSON.stringify((await (await fetch(url, { headers })).json()).items))';
  for (const name of controllers) {
    const asked = `const url = 'https://${name}:7600/v1/controllers', headers = { authorization: 'Bearer ' + process.argv[1] }; ${shown}`;
    const command = `NODE_EXTRA_CA_CERTS=${caFile} node --input-type=module -e "${asked}" $(cat ${tokenFile})`;
    const { exitCode, output: said } = await project.container('client').exec(['sh', '-c', command]);
    if (exitCode !== 0) continue;
    const items = JSON.parse(said) as { readonly id: string; readonly state: string; readonly leader: boolean }[];
    const found = items.find((one) => one.leader && one.state === 'Ready');
    if (found !== undefined) return found.id.split(':', 1)[0];
  }
  return undefined;
}

interface RunningLoad {
  /** Waits until each target chosen by its container has answered many times more. */
  goesOn(chosen: (container: string) => boolean): Promise<void>;
  stop(): Promise<void>;
  /** Nothing failed but what went to one container between two moments; what was acknowledged is there. */
  expectNoFailure(excused: { readonly but: string; readonly from: number; readonly to: number }): void;
}

/** Answers that show that one goes on: seconds of requests. */
const manyAnswers = 30;

async function withLoad(work: (load: RunningLoad) => Promise<void>): Promise<void> {
  const options: LoadOptions = {
    envoys: envoys.map((name) => `${name}:10080`),
    host: 'shop.example',
    controllers: controllers.map((name) => `${name}:7600`),
    caFile,
    tokenFile,
    reportFile: '/tmp/load.json',
    stopFile: '/tmp/load.stop',
  };
  const client = project.container('client');
  await output('client', 'rm', '-f', options.reportFile, options.stopFile);
  const ran = client.exec(['node', '--input-type=module-typescript', '-e', loadSource, JSON.stringify(options)]);
  const report = async (): Promise<LoadReport> => JSON.parse(await output('client', 'cat', options.reportFile));
  let last: LoadReport | undefined;
  let isStopped = false;
  const stop = async (): Promise<void> => {
    if (isStopped) return;
    isStopped = true;
    await output('client', 'touch', options.stopFile);
    const { exitCode, output: said } = await ran;
    expect(exitCode, said).toBe(0);
    last = await report();
  };
  const goesOn = async (chosen: (container: string) => boolean): Promise<void> => {
    let seen: LoadReport | undefined;
    const before = await until('the load to begin', report, { limitMs: 60_000, everyMs: 200 });
    await until(
      'all others to go on',
      async () => {
        seen = await report();
        const now = talliesOf(seen);
        return talliesOf(before).every(
          ({ container, answered }, i) =>
            !chosen(container) || (now[i] as TargetTally).answered >= answered + manyAnswers,
        );
      },
      { limitMs: 120_000, everyMs: 200, describe: () => seen },
    );
  };
  try {
    await goesOn(() => true);
    await work({
      goesOn,
      stop,
      expectNoFailure({ but, from, to }) {
        const failures = talliesOf(last as LoadReport).flatMap((tally) =>
          tally.failures
            .filter(({ at }) => tally.container !== but || at < from || at > to)
            .map(({ at, why }) => `${tally.container} ${at - from} ms after the kill: ${why}`),
        );
        expect(failures).toEqual([]);
      },
    });
    for (const [scope, n] of Object.entries((last as LoadReport | undefined)?.acknowledged ?? {})) {
      const stored = JSON.parse(await output('client', 'fairway', 'get', 'scope', scope, '-o', 'json'));
      expect(Number(stored.metadata.labels.n)).toBeGreaterThanOrEqual(n);
    }
  } finally {
    await stop();
  }
}

interface TargetTally extends Tally {
  readonly container: string;
}

function talliesOf({ envoys: proxied, reads, writes }: LoadReport): TargetTally[] {
  return [proxied, reads, writes].flatMap((group) =>
    Object.entries(group).map(([to, tally]) => ({ container: to.split(':', 1)[0] as string, ...tally })),
  );
}
