import { connect } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAuthority } from '../../src/demo/certificate.ts';
import { type RunningEnvoy, startEnvoy } from '../support/envoy.ts';
import { type Manifest, startFairway, type TestFairway } from '../support/fairway.ts';
import { createPoison } from '../support/poison.ts';
import { freePort } from '../support/ports.ts';
import { until } from '../support/until.ts';

// One secret among 32 that Envoy refuses takes TLS from its own host and from no other.

const hosts = Array.from({ length: 32 }, (_, n) => `h${n}`);
const bad = 'h11';
const poison = createPoison();

let fairway: TestFairway;
let envoy: RunningEnvoy;
let port: number;
let certificate: (name: string, serial: string, isBad?: boolean) => Promise<Manifest>;

beforeAll(async () => {
  const authority = await createAuthority();
  certificate = async (name, serial, isBad = false) => {
    const { chain, key } = await authority.issue(`${name}.example`, serial);
    if (isBad) poison.chains.add(chain);
    return { kind: 'Certificate', metadata: { name }, spec: { chain, key } };
  };
  port = await freePort();
  fairway = await startFairway({ rawPatch: poison.patch });
  envoy = await startEnvoy({ xdsPort: fairway.xdsPort, fleet: 'edge', node: 'lb-1' });
  await fairway.put({ kind: 'Fleet', metadata: { name: 'edge' }, spec: {} });
});

afterAll(async () => {
  await envoy?.stop();
  await fairway?.close();
});

/** Serial number of the certificate that is shown for a host. */
function shownFor(name: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect({ port, host: '127.0.0.1', servername: `${name}.example`, rejectUnauthorized: false }, () => {
    resolve(socket.getPeerCertificate().serialNumber.toLowerCase());
    socket.destroy();
  });
  socket.on('error', reject);
  return promise;
}

const serials = (prefix: string) => hosts.map((_, n) => `${prefix}${String(n).padStart(2, '0')}`);

async function programmed(name: string) {
  const { status } = await fairway.get('Certificate', name);
  return status.conditions.find(({ type }) => type === 'Programmed');
}

async function apply(objects: readonly Manifest[]): Promise<void> {
  const body = { objects: objects.map((object) => ({ apiVersion: 'fairway/v1', ...object })) };
  expect(await fairway.call('POST', '/v1/apply', body)).toMatchObject({ status: 200 });
}

test('one bad secret among 32, never good: its host alone is without TLS', async () => {
  const certificates = await Promise.all(
    hosts.map((name, n) => certificate(name, serials('1a')[n] as string, name === bad)),
  );
  const listeners = hosts.map((name) => ({
    name,
    port,
    protocol: 'HTTPS',
    certificates: [name],
    hosts: [`${name}.example`],
  }));
  await apply([
    ...certificates,
    { kind: 'VirtualService', metadata: { name: 'shop' }, spec: { fleet: 'edge', listeners } },
  ]);
  const words = await until('the culprit', async () => {
    const condition = await programmed(bad);
    return (
      condition?.reason === 'RejectedByProxy' &&
      condition.message.includes('Nothing of it is served') &&
      condition.message
    );
  });
  expect(words).toMatch(/certificate/i);
  expect(words).not.toMatch(/BEGIN|MIIB/);
  for (const name of hosts) if (name !== bad) await fairway.waitFor('Certificate', name, 'Programmed', 'True');
  const shown = await until('all others to show their certificates', async () =>
    Promise.all(hosts.filter((name) => name !== bad).map(shownFor)),
  );
  expect(shown).toEqual(serials('1a').filter((_, n) => hosts[n] !== bad));
  await expect(shownFor(bad)).rejects.toThrow();
});

test('mended, it is served', async () => {
  await fairway.put(await certificate(bad, '1bff'));
  await fairway.waitFor('Certificate', bad, 'Programmed', 'True');
  expect(await until('its certificate', () => shownFor(bad))).toBe('1bff');
});

test('all are replaced together and one is bad: that one stays as it was', async () => {
  await apply(await Promise.all(hosts.map((name, n) => certificate(name, serials('1c')[n] as string, name === bad))));
  await until('the culprit', async () => {
    const condition = await programmed(bad);
    return condition?.reason === 'RejectedByProxy' && condition.message.includes('Generation 2 goes on being served');
  });
  for (const name of hosts) if (name !== bad) await fairway.waitFor('Certificate', name, 'Programmed', 'True');
  const shown = await Promise.all(hosts.map(shownFor));
  expect(shown).toEqual(serials('1c').map((serial, n) => (hosts[n] === bad ? '1bff' : serial)));
  // Each of the two bad forms was sent once. (Envoy counts a refusal at every secret that it has.)
  const rejections = fairway.logged().match(/"event":"resource_rejected".*"name":"default\/\w+"/g) ?? [];
  expect(rejections.map((line) => line.slice(line.indexOf('"name"')))).toEqual(
    Array.from({ length: 2 }, () => `"name":"default/${bad}"`),
  );
});
