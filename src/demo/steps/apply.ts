import { certificateObject } from '../certificate.ts';
import { readManifests, withPorts } from '../examples.ts';
import { docsHost, type Stage, shop, type Walk } from '../stage.ts';
import { type Client, createClient, exchange } from '../traffic.ts';
import { until } from '../until.ts';

/** Applies the example manifests, and asks every route from that moment on until it answers as it should. */

/** The slowest thing on the way is the first health check of a member, once a second at most. */
const answerLimitMs = 20_000;

/** One thing a client does, and who must answer it. */
interface Probe {
  readonly service: string;
  readonly route: string;
  readonly asks: string;
  /** What came back, and from whom; undefined when it is not what it should be. */
  ask(): Promise<{ readonly answer: string; readonly from: string } | undefined>;
}

export async function applyExamples(walk: Walk, stage: Stage): Promise<void> {
  const { report, signal } = walk;
  report.heading('Applying envoy/examples/*.yaml, with free ports');
  const certificate = certificateObject(shop.certificate, stage.certificate);
  const objects = [...withPorts(readManifests(), stage.ports), certificate];
  const web = createClient({ port: stage.web, connections: 4 });
  const secure = createClient({ port: stage.secure, trusted: stage.authority.certificate, connections: 4 });
  try {
    const rows = await report.step('Real requests through Envoy', async () => {
      const probes = probesOf(web, secure, stage.echo);
      const began = performance.now();
      const applying = stage.rest.apply(objects);
      const asking = probes.map((probe) => firstGoodAnswer(probe, began, signal));
      const [, rows] = await Promise.all([applying, Promise.all(asking)]);
      return { say: `all ${rows.length} were answered as they should be`, value: rows };
    });
    await report.step('Status', async () => {
      for (const object of objects) await stage.rest.programmed(object);
      return { say: `${objects.length} objects, all conditions are True`, value: undefined };
    });
    report.table(['SERVICE', 'ROUTE', 'REQUEST', 'ANSWER', 'FROM', 'AFTER APPLY'], rows);
  } finally {
    web.close();
    secure.close();
  }
}

async function firstGoodAnswer(probe: Probe, began: number, signal: AbortSignal): Promise<readonly string[]> {
  let last = 'no answer';
  const look = async () => {
    try {
      return await probe.ask();
    } catch (error) {
      // Nothing listens there yet.
      last = error instanceof Error ? error.message : String(error);
      return undefined;
    }
  };
  const what = `a good answer to ${probe.asks}`;
  const { answer, from } = await until(look, { what, limitMs: answerLimitMs, everyMs: 5, signal, instead: () => last });
  const afterMs = Math.round(performance.now() - began);
  return [probe.service, probe.route, probe.asks, answer, from, `${afterMs} ms`];
}

/** One probe for each way through the examples. */
function probesOf(web: Client, secure: Client, echo: number): Probe[] {
  const fromBackend =
    (client: Client, host: string, path: string, names: readonly string[], asked = path) =>
    async () => {
      const { status, backend, body, serial } = await client.get(host, path);
      const isGood = status === 200 && backend !== undefined && names.includes(backend) && body.includes(` ${asked} `);
      const extra = serial === undefined ? '' : `, certificate ${serial}`;
      return isGood ? { answer: `200, asked for ${asked}${extra}`, from: backend } : undefined;
    };
  const webPool = ['backend-1', 'backend-2'];
  const { host } = shop;
  return [
    { service: 'shop', route: 'home', asks: `GET http://${host}/`, ask: fromBackend(web, host, '/', webPool) },
    {
      service: 'shop',
      route: 'api',
      asks: `GET http://${host}/api/items`,
      ask: fromBackend(web, host, '/api/items', webPool, '/items'),
    },
    {
      service: 'shop',
      route: 'ping',
      asks: `GET http://${host}/ping`,
      async ask() {
        const { status, body } = await web.get(host, '/ping');
        return status === 200 && body === 'pong' ? { answer: '200, "pong"', from: 'Envoy itself' } : undefined;
      },
    },
    {
      service: 'shop',
      route: 'old',
      asks: `GET http://${host}/old/cart`,
      async ask() {
        const { status, location } = await web.get(host, '/old/cart');
        const isGood = status === 301 && location?.endsWith('/cart') === true && !location.includes('/old');
        return isGood ? { answer: `301 to ${location}`, from: 'Envoy itself' } : undefined;
      },
    },
    {
      service: 'shop',
      route: 'docs/guide',
      asks: `GET http://${docsHost}/guide`,
      ask: fromBackend(web, docsHost, '/guide', ['backend-3']),
    },
    { service: 'shop', route: '(default)', asks: `GET https://${host}/`, ask: fromBackend(secure, host, '/', webPool) },
    {
      service: 'echo',
      route: '(TCP)',
      asks: '"hello" by TCP',
      async ask() {
        const back = await exchange(echo, 'hello');
        return back === 'hello' ? { answer: '"hello"', from: 'echo' } : undefined;
      },
    },
  ];
}
