/** Controllers and etcd that fail under writes: what must hold, with short pauses. */
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { typeUrls } from '../../src/xds/index.ts';
import { type Controller, startTestCluster, type TestCluster } from '../support/controllers.ts';
import type { EtcdMember, Missing } from '../support/etcd.ts';
import { startToyProxy } from '../support/toy-proxy.ts';
import { until } from '../support/until.ts';

let started: TestCluster | Missing;
let controllers: Controller[] = [];

beforeAll(async () => {
  started = await startTestCluster(3);
  if ('missing' in started) return;
  controllers = [];
  for (const name of ['a', 'b', 'c']) controllers.push(await started.start(name));
  const [first] = controllers as [Controller];
  for (const [path, object] of Object.entries(objects)) {
    const answer = await first.call('PUT', `/v1/${path}`, object);
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  }
});

afterAll(async () => {
  if ('close' in started) await started.close();
});

beforeEach((context) => {
  if ('missing' in started) context.skip(started.missing);
});

function cluster(): TestCluster {
  if ('missing' in started) throw new Error(started.missing);
  return started;
}

const object = (kind: string, name: string, spec: unknown) => ({
  apiVersion: 'fairway/v1',
  kind,
  metadata: { name, ...(kind === 'Fleet' ? {} : { scope: 'default' }) },
  spec,
});
const pool = (name: string, port: number) =>
  object('BackendPool', name, { members: [{ address: '127.0.0.1', port }], drainTimeout: '1s' });
const poolPath = (name: string) => `scopes/default/backend-pools/${name}`;
const objects = {
  'fleets/edge': object('Fleet', 'edge', {}),
  [poolPath('web')]: pool('web', 9001),
  'scopes/default/virtual-services/shop': object('VirtualService', 'shop', {
    fleet: 'edge',
    listeners: [{ name: 'web', port: 8080, protocol: 'HTTP', defaultAction: { forward: [{ pool: 'web' }] } }],
  }),
};

/** Writes to one pool after another through the controllers in turn, until it is told to stop. */
function writeOn(targets: readonly Controller[], prefix: string) {
  const acknowledged = new Map<string, number>();
  const failed: string[] = [];
  let stopped = false;
  let writes = 0;
  const writers = targets.map(async (target, w) => {
    while (!stopped) {
      writes += 1;
      const [name, port] = [`${prefix}-${w}-${writes % 10}`, 10_000 + (writes % 50_000)];
      try {
        const { status } = await target.call('PUT', `/v1/${poolPath(name)}`, pool(name, port));
        if (status < 300) acknowledged.set(name, port);
        else failed.push(`${target.name}: ${status}`);
      } catch (error) {
        failed.push(`${target.name}: ${String(error)}`);
      }
    }
  });
  return {
    acknowledged,
    failed,
    count: () => writes,
    async stop() {
      stopped = true;
      await Promise.all(writers);
    },
  };
}

/** What every one of `targets` says must be what was acknowledged. */
async function expectKept(acknowledged: ReadonlyMap<string, number>, targets: readonly Controller[]): Promise<void> {
  expect(acknowledged.size).toBeGreaterThan(5);
  for (const target of targets) {
    await until(`${target.name} to have all that was acknowledged`, async () => {
      const { body } = await target.call('GET', '/v1/backend-pools?limit=500');
      const ports = new Map<string, number>(
        body.items.map((item: { metadata: { name: string }; spec: { members: { port: number }[] } }) => [
          item.metadata.name,
          item.spec.members[0]?.port,
        ]),
      );
      return [...acknowledged].every(([name, port]) => ports.get(name) === port);
    });
  }
}

/** A member leaves a pool: only a leader lets it drain, and takes it away in the end. */
async function expectDecisions(through: Controller, limitMs: number): Promise<void> {
  const name = `drained-${Date.now()}`;
  const two = [9001, 9002].map((port) => ({ address: '127.0.0.1', port }));
  const put = (members: readonly unknown[]) =>
    through.call('PUT', `/v1/${poolPath(name)}`, object('BackendPool', name, { members, drainTimeout: '30s' }));
  expect((await put(two)).status).toBe(201);
  expect((await put(two.slice(0, 1))).status).toBe(200);
  await until(
    'a leader to decide until when the member drains',
    async () => {
      const { body } = await through.call('GET', `/v1/${poolPath(name)}`);
      return JSON.stringify(body.status).includes('"until"');
    },
    { limitMs, describe: async () => (await through.call('GET', `/v1/${poolPath(name)}`)).body.status },
  );
}

async function leaderAmong(candidates: readonly Controller[]): Promise<Controller> {
  const [first] = candidates as [Controller];
  const { id } = await first.leader();
  const leader = candidates.find(({ name }) => name === id);
  if (leader === undefined) throw new Error(`${id} leads`);
  return leader;
}

describe('a leader', () => {
  test('that is killed while much is written: nothing acknowledged is lost, and the next one acts soon', async () => {
    const leader = await leaderAmong(controllers);
    const others = controllers.filter((controller) => controller !== leader);
    const writes = writeOn(others, 'kill');
    await until('writes to come in', () => writes.count() > 30);
    await leader.kill();
    await expectDecisions(others[0] as Controller, 5_000);
    await writes.stop();
    // REST on the others never fails.
    expect(writes.failed).toEqual([]);
    await expectKept(writes.acknowledged, others);
    controllers[controllers.indexOf(leader)] = await cluster().start(leader.name);
  });

  test('that stands still past its lease does nothing more when it goes on, and follows', async () => {
    await until('all to be there', async () => (await (controllers[0] as Controller).controllers()).length === 3);
    const leader = await leaderAmong(controllers);
    const others = controllers.filter((controller) => controller !== leader);
    const before = (await leader.leader()).term as number;
    leader.pause();
    onTestFinished(() => leader.resume());
    const next = await until('another to lead', async () => {
      const found = (await others[0]?.controllers())?.find(({ id, leader: leads }) => leads && id !== leader.name);
      return found;
    });
    expect(next.term).toBeGreaterThan(before);
    await expectDecisions(others[0] as Controller, 5_000);
    leader.resume();
    await until('the old one to see who leads', async () => {
      const seen = await leader.controllers();
      return seen.find(({ leader: leads }) => leads)?.id === next.id;
    });
    expect(leader.output()).toContain('"leadership_lost"');
    // What it may have tried was not written under its old term: the election's entry was no longer its own.
    await expectDecisions(leader, 5_000);
  });
});

describe('etcd', () => {
  test('that loses one member is not noticed', { timeout: 60_000 }, async () => {
    const { members } = cluster().etcd;
    const writes = writeOn(controllers, 'member');
    for (const member of members) {
      const before = writes.count();
      await until('writes to go on', () => writes.count() > before + 20);
      await member.kill();
      const during = writes.count();
      await until('writes to go on without it', () => writes.count() > during + 20);
      member.restart();
      await until('it to be back', async () => (await fetch(`${member.url}/health`)).ok);
    }
    await writes.stop();
    expect(writes.failed).toEqual([]);
    await expectKept(writes.acknowledged, controllers);
  });

  test('that loses its quorum: reads go on with their age, proxies are served, writes are refused in time', async () => {
    const [here] = controllers as [Controller];
    const toy = await startToyProxy({ xdsPort: here.xdsPort, node: 'lb-quorum', fleet: 'edge' });
    onTestFinished(() => toy.close());
    await until('the proxy to be filled', () => toy.version(typeUrls.endpoint, 'default/web'));
    const gone = cluster().etcd.members.slice(1) as EtcdMember[];
    const resume = (): void => {
      for (const member of gone) member.resume();
    };
    onTestFinished(resume);
    for (const member of gone) member.pause();

    const begun = performance.now();
    const refused = await here.call('PUT', `/v1/${poolPath('late')}`, pool('late', 9009));
    expect(performance.now() - begun).toBeLessThan(2_000);
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(refused.body).toMatchObject({ code: 'StoreUnavailable' });

    const aged = await until('reads to tell their age', async () => {
      const answer = await here.call('GET', `/v1/${poolPath('web')}`);
      return answer.headers.has('fairway-view-age') && answer;
    });
    expect(aged.status).toBe(200);
    expect(Number(aged.headers.get('fairway-view-age'))).toBeGreaterThanOrEqual(2);
    // A proxy that comes now is served as well, from the View.
    const late = await startToyProxy({ xdsPort: here.xdsPort, node: 'lb-late', fleet: 'edge' });
    onTestFinished(() => late.close());
    await until('a new proxy to be filled', () => late.version(typeUrls.endpoint, 'default/web'));

    resume();
    await until('writes to be taken again', async () => {
      return (await here.call('PUT', `/v1/${poolPath('late')}`, pool('late', 9010))).status < 300;
    });
    await until('reads to be new again', async () => {
      return !(await here.call('GET', `/v1/${poolPath('web')}`)).headers.has('fairway-view-age');
    });
    for (const controller of controllers) {
      await until(`${controller.name} to have it`, async () => {
        const { body } = await controller.call('GET', `/v1/${poolPath('late')}`);
        return body.spec?.members[0].port === 9010;
      });
    }
  });

  test('that is not there yet is waited for', async () => {
    const { members } = cluster().etcd;
    const resume = (): void => {
      for (const member of members) member.resume();
    };
    onTestFinished(resume);
    for (const member of members) member.pause();
    const lines: string[] = [];
    const starting = cluster().start('d', { onLine: (line) => lines.push(line) });
    await until('it to wait', () => lines.filter((line) => line.includes('"store_awaited"')).length > 0);
    expect(lines.some((line) => line.includes('"server_ready"'))).toBe(false);
    resume();
    const late = await starting;
    expect((await late.call('GET', `/v1/${poolPath('web')}`)).status).toBe(200);
    await late.stop();
    await until('it to have left', async () => {
      return (await (controllers[0] as Controller).controllers()).every(({ id }) => id !== 'd');
    });
  });
});
