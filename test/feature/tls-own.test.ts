import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { enrol, renewIdentity } from '../../src/cli/membership/enrol.ts';
import { serverDefaults } from '../../src/config/index.ts';
import { type Server, startServer } from '../../src/server/index.ts';
import { createLogger } from '../../src/telemetry/log.ts';
import { runHere } from '../support/command-line.ts';

// The REST API with a certificate of the installation's own authority: what operators and nodes need to reach it.

let server: Server;
let folder: string;
let url: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fairway-own-'));
  server = await startServer({
    config: {
      ...serverDefaults,
      authentication: 'none',
      store: 'memory',
      listen: '127.0.0.1:0',
      xdsListen: '127.0.0.1:0',
      xdsTls: 'own',
      tlsOwn: true,
    },
    log: createLogger({ level: 'silent' }),
  });
  url = `https://${server.address}`;
});
afterAll(async () => {
  await server?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** As somebody who trusts nobody yet can read it. */
function authority(): Promise<string> {
  return new Promise((resolve, reject) => {
    get(`${url}/v1/ca`, { rejectUnauthorized: false, agent: false }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      answer.on('end', () => resolve(JSON.parse(text).certificates));
    }).on('error', reject);
  });
}

it('operators name its root in their context, and nodes need their token alone', async () => {
  writeFileSync(join(folder, 'ca.pem'), await authority());
  writeFileSync(join(folder, 'contexts.yaml'), `current: own\ncontexts:\n  own: { server: "${url}", ca: ca.pem }\n`);
  const env = { FAIRWAY_CONTEXTS: join(folder, 'contexts.yaml') };
  const made = await runHere(['token', 'create', '--node', 'edge-1', '--fleet', 'edge'], { env });
  expect(made.code).toBe(0);
  expect((await runHere(['token', 'list', '--join', '--server', url])).code).toBe(3);

  const node = join(folder, 'node');
  const identity = await enrol({
    folder: node,
    server: { url },
    token: made.out,
    node: undefined,
    fleet: undefined,
    insecure: false,
    now: Date.now(),
  });
  if (identity === undefined) throw new Error('no identity');
  expect(identity).toMatchObject({ node: 'edge-1', fleet: 'edge' });
  expect((await renewIdentity(node, { url }, identity)).uid).toBe(identity.uid);

  // While a root is replaced, whoever is new goes by the one that controllers still show.
  expect((await runHere(['ca', 'rotate'], { env })).code).toBe(0);
  const next = await runHere(['token', 'create', '--node', 'edge-2', '--fleet', 'edge'], { env });
  const joining = {
    folder: join(folder, 'second'),
    server: { url },
    token: next.out,
    insecure: false,
    now: Date.now(),
  };
  const second = await enrol({ ...joining, node: undefined, fleet: undefined });
  expect(second?.ca.match(/BEGIN/g)).toHaveLength(2);
});
