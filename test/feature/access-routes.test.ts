import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTestApi, type TestApi } from '../support/api.ts';

// That every route says what it takes, and that those that do not are closed.

let api: TestApi;
beforeEach(async () => {
  api = await createTestApi({ access: { authentication: 'required' } });
});
afterEach(() => api.close());

interface Route {
  readonly method: string;
  readonly url: string;
}

/** All that fastify would answer, as it prints it itself: with every method of every path. */
async function routesOf({ app }: TestApi): Promise<Route[]> {
  await app.ready();
  const routes: Route[] = [];
  const trail: string[] = [];
  for (const line of app.printRoutes({ commonPrefix: false }).split('\n')) {
    const match = /^([│ ]*)(?:├── |└── )(.*?)(?: \((.*)\))?$/u.exec(line);
    if (match === null) continue;
    const [, indent = '', part = '', methods = ''] = match;
    trail.length = indent.length / 4;
    trail.push(part);
    for (const method of methods.split(', ').filter((name) => name !== '')) {
      routes.push({ method, url: trail.join('') });
    }
  }
  return routes;
}

/** A path of the route; `:name|:scope` is a segment that two routes share. */
function pathOf(url: string): string {
  return url.replaceAll(/:\w+(\|:\w+)*/g, 'x').replace('*', 'x');
}

/** What is answered to everybody. */
const open = [
  /^(GET|HEAD) \/(healthz|readyz|openapi\.json)$/,
  /^(GET|HEAD) \/docs(\/|$)/,
  // Who joins or renews brings the proof in the body; whom to trust is no secret.
  /^POST \/v1\/(join|renew)$/,
  /^(GET|HEAD) \/v1\/ca$/,
];

describe('without a word who asks', () => {
  it('every route is closed but those that are open on purpose', async () => {
    const routes = await routesOf(api);
    expect(routes.length).toBeGreaterThan(60);
    expect(routes.map(({ url }) => url)).toContain('/v1/scopes/:name|:scope/backend-pools/:name');
    for (const { method, url } of routes) {
      if (method === 'OPTIONS' || open.some((pattern) => pattern.test(`${method} ${url}`))) continue;
      const answer = await api.call(method as 'GET', pathOf(url));
      expect(answer.status, `${method} ${url}`).toBe(401);
    }
  });

  it.each(['/healthz', '/readyz', '/openapi.json', '/docs'])('%s is open', async (url) => {
    expect((await api.call('GET', url)).status).toBe(200);
  });

  it.each(['/', '/v1', '/v1/nothing', '/admin'])('%s tells nobody whether it exists', async (url) => {
    expect(await api.call('GET', url)).toMatchObject({ status: 401, body: { code: 'Unauthenticated' } });
  });

  it('a method that there is not is not told of either', async () => {
    const answer = await api.call('DELETE', '/v1/backend-pools');
    expect(answer.status).toBe(401);
    expect(answer.headers['allow']).toBeUndefined();
  });
});

describe('each route', () => {
  it('says what it takes; one that does not is closed, also where nobody is asked who they are', async () => {
    const extend = (app: TestApi['app']) => app.get('/v1/forgotten', async () => 'secrets');
    const lax = await createTestApi({ extend });
    const closed: string[] = [];
    for (const { method, url } of await routesOf(lax)) {
      if (method === 'OPTIONS') continue;
      const answer = await lax.call(method as 'GET', pathOf(url));
      if (answer.status === 403) closed.push(`${method} ${url}`);
    }
    await lax.close();
    expect(closed).toEqual(['GET /v1/forgotten', 'HEAD /v1/forgotten']);
  });

  it('tells in the document who may use it', async () => {
    const { body } = await api.call('GET', '/openapi.json');
    expect(Object.keys(body.components.securitySchemes)).toEqual(['token', 'certificate']);
    expect(body.security).toEqual([{ token: [] }, { certificate: [] }]);
    const pools = body.paths['/v1/backend-pools'].get;
    expect(pools.security).toBeUndefined();
    expect(Object.keys(pools.responses)).toEqual(expect.arrayContaining(['401', '403', '429']));
    expect(body.paths['/healthz'].get.security).toEqual([]);
    expect(body.paths['/healthz'].get.responses).not.toHaveProperty('401');
    expect(body.paths['/v1/whoami'].get.responses).not.toHaveProperty('403');
  });
});
