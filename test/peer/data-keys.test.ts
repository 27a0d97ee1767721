/** The data key of several controllers on one etcd, replaced while they work as README says. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newDataKey } from '../../src/lib/sealer.ts';
import { certificate, keyFragments, pem } from '../support/api.ts';
import { type Controller, type TestCluster, useTestCluster } from '../support/controllers.ts';
import { until } from '../support/until.ts';

let folder: string;
const shared = useTestCluster();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fairway-data-keys-'));
});

afterAll(() => rm(folder, { recursive: true }));

const [former, newer] = [newDataKey(), newDataKey()];

/** A controller with a file of keys of its own, which is read anew when it changes. */
async function start(cluster: TestCluster, name: string) {
  const file = join(folder, `${name}.key`);
  const give = (...keys: readonly string[]) => writeFile(file, `${keys.join('\n')}\n`, { mode: 0o600 });
  await give(former);
  const controller = await cluster.start(name, { dataKeyFile: file });
  /** Of the events named so: what they say, in order. */
  const told = (event: string): { keyId: string }[] =>
    controller
      .output()
      .split('\n')
      .filter((line) => line.includes(`"${event}"`))
      .map((line) => JSON.parse(line));
  return { controller, give, told };
}

type Keyed = Awaited<ReturnType<typeof start>>;

const pathOf = (name: string) => `/v1/scopes/default/certificates/${name}`;

/** Without its key, which is kept: to check that it is the one of the chain takes opening it. */
function withoutKey(name: string, algorithm: 'p256' | 'p384', allowedScopes: readonly string[]) {
  const { spec, ...rest } = certificate(name, algorithm);
  const { key: _key, ...shown } = spec as Record<string, unknown>;
  return { ...rest, spec: { ...shown, allowedScopes } };
}

test('is replaced without a restart: all open what either has sealed, and nothing secret is told', async () => {
  const { cluster } = shared;
  const all = await Promise.all(['a', 'b', 'c'].map((name) => start(cluster, name)));
  const [a, b, c] = all as [Keyed, Keyed, Keyed];
  const answers: string[] = [];
  const put = async ({ controller }: Keyed, object: { metadata: { name: string } }): Promise<number> => {
    const { status, body } = await controller.call('PUT', pathOf(object.metadata.name), object);
    answers.push(JSON.stringify(body));
    return status;
  };
  const renewed = (times: number) =>
    until(
      'all to have the keys of their files',
      () => all.every(({ told }) => told('data_keys_renewed').length === times),
      { describe: () => all.map(({ controller }) => controller.output().slice(-1_000)) },
    );
  expect(await put(a, certificate('old-tls', 'p256'))).toBe(201);

  // First all can open what it will seal.
  await Promise.all(all.map(({ give }) => give(newer, former)));
  await renewed(1);
  const [formerId] = new Set(all.flatMap(({ told }) => told('data_keys_renewed').map(({ keyId }) => keyId)));
  expect(await sealedWith(cluster)).toEqual([formerId]);

  // Then one seals with it, and what is there, history included.
  await a.give(former, newer);
  const [retired] = await until('the former key to be retired', () => {
    const events = a.told('data_key_retired');
    return events.length > 0 && events;
  });
  expect(retired?.keyId).toBe(formerId);
  const newerId = a.told('data_keys_renewed').at(-1)?.keyId as string;
  expect(newerId).not.toBe(formerId);
  expect(await sealedWith(cluster)).toEqual([newerId]);
  expect(await put(a, certificate('new-tls', 'p384'))).toBe(201);
  // The others open it, and seal nothing any more that the former key alone would open.
  for (const { controller } of [b, c]) {
    await until('the new one to be read', async () => (await controller.call('GET', pathOf('new-tls'))).status === 200);
    const { status, body } = await controller.call('PUT', pathOf('old-tls'), withoutKey('old-tls', 'p256', ['*']));
    expect([status, body.detail]).toEqual([503, expect.stringContaining('give this controller the newer one too')]);
  }

  await Promise.all([b, c].map(({ give }) => give(former, newer)));
  await until('the others to seal with it', () => [b, c].every(({ told }) => told('data_keys_renewed').length === 2));
  expect(await put(b, withoutKey('old-tls', 'p256', ['*']))).toBe(200);
  expect(await put(c, withoutKey('new-tls', 'p384', ['*']))).toBe(200);

  // Nobody needs the former one any more, whoever starts now neither.
  await Promise.all(all.map(({ give }) => give(newer)));
  await renewed(3);
  expect(await put(c, withoutKey('old-tls', 'p256', ['default']))).toBe(200);
  expect(await sealedWith(cluster)).toEqual([newerId]);
  await b.controller.stop();
  const again = await cluster.start('b', { dataKeyFile: join(folder, 'b.key') });
  const { status } = await again.call('PUT', pathOf('new-tls'), withoutKey('new-tls', 'p384', ['default']));
  expect(status).toBe(200);

  const secrets = [former, newer, ...keyFragments('p256', 'p384')];
  const outputs = [...all.map(({ controller }) => controller), again].map((one: Controller) => one.output());
  for (const [place, text] of [
    ['a log', outputs.join('\n')],
    ['an answer', answers.join('\n')],
    ['etcd', await allOf(cluster)],
  ] as const) {
    expect(
      secrets.filter((secret) => text.includes(secret)),
      place,
    ).toEqual([]);
  }
});

/** Everything that etcd holds, as text. */
async function allOf({ etcd }: TestCluster): Promise<string> {
  const values = await etcd.client.getAll().strings();
  // The place to look: what is no secret is there.
  const text = Object.values(values).join('\n');
  expect(text).toContain(pem('p256').split('\n')[1]);
  return text;
}

/** Ids of the keys that have sealed what is there. */
async function sealedWith(cluster: TestCluster): Promise<string[]> {
  const seals = (await allOf(cluster)).matchAll(/fw1\.([0-9a-f]{16})\./g);
  return [...new Set(Array.from(seals, ([, id]) => id as string))].sort();
}
