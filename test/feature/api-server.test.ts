import { Validator } from '@seriousme/openapi-schema-validator';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { kindInfo, kindNames } from '../../src/model/index.ts';
import { createTestApi, pool, type TestApi } from '../support/api.ts';

let api: TestApi;
beforeEach(async () => {
  api = await createTestApi();
});
afterEach(async () => {
  await api.close();
});

describe('/openapi.json', () => {
  it('is a valid OpenAPI 3.1 document', async () => {
    const { body } = await api.call('GET', '/openapi.json');
    const result = await new Validator().validate(structuredClone(body));
    expect(result.errors).toBeUndefined();
    expect(result.valid).toBe(true);
    expect(body.openapi).toBe('3.1.0');
  });

  it('describes every kind, with its status, limits and write-only fields', async () => {
    const { schemas } = (await api.call('GET', '/openapi.json')).body.components;
    for (const kind of kindNames) {
      expect(schemas[kind].properties.kind.const).toBe(kind);
      expect(schemas[kind].properties.spec.properties).toEqual(
        JSON.parse(JSON.stringify(kindInfo(kind).schema.properties)),
      );
      expect(schemas[kind].properties.status.properties.conditions.items.properties.reason).toBeDefined();
      expect(schemas[`${kind}List`].properties.items.items).toEqual({ $ref: `#/components/schemas/${kind}` });
    }
    expect(schemas.BackendPool.properties.spec.properties.members.items.properties.port).toMatchObject({
      minimum: 1,
      maximum: 65535,
    });
    expect(schemas.Certificate.properties.spec.properties.key.writeOnly).toBe(true);
    expect(schemas.Problem.properties.code.enum).toContain('MassRemoval');
  });

  it('describes answers of several forms so that each is of one of them', async () => {
    const { paths, components } = (await api.call('GET', '/openapi.json')).body;
    const required = ({ $ref }: { readonly $ref: string }): string[] =>
      components.schemas[$ref.split('/').at(-1) as string].required ?? [];
    let looked = 0;
    for (const [path, operations] of Object.entries<Record<string, { readonly responses: object }>>(paths)) {
      for (const { responses } of Object.values(operations)) {
        for (const { oneOf } of schemasOf(responses)) {
          const forms = (oneOf ?? []).map(required);
          looked += forms.length;
          for (const one of forms) {
            // What has all that another form needs would be of that form, too.
            const others = forms.filter((other) => other !== one && other.every((name) => one.includes(name)));
            expect(others, path).toEqual([]);
          }
        }
      }
    }
    expect(looked).toBeGreaterThan(0);
  });

  it('describes every path that is answered, with parameters and problems', async () => {
    const { paths } = (await api.call('GET', '/openapi.json')).body;
    expect(Object.keys(paths).sort()).toEqual(
      [
        '/healthz',
        '/metrics',
        '/openapi.json',
        '/readyz',
        '/v1/apply',
        '/v1/backup',
        '/v1/restore',
        '/v1/ca',
        '/v1/ca/rotation',
        '/v1/join',
        '/v1/join-tokens',
        '/v1/join-tokens/{id}',
        '/v1/renew',
        '/v1/compare',
        '/v1/tokens',
        '/v1/tokens/{id}',
        '/v1/whoami',
        '/v1/controllers',
        '/v1/audit',
        '/v1/events',
        '/v1/proxies',
        '/v1/commits/{revision}',
        '/v1/proxies/{node}',
        '/v1/proxies/{node}/compare',
        '/v1/proxies/{node}/config',
        '/v1/scopes/{scope}/virtual-services/{name}/explain',
        ...kindNames.flatMap((kind) => {
          const { plural, global } = kindInfo(kind);
          return [`/v1/${plural}`, global ? `/v1/${plural}/{name}` : `/v1/scopes/{scope}/${plural}/{name}`];
        }),
      ].sort(),
    );
    const one = paths['/v1/scopes/{scope}/virtual-services/{name}'];
    expect(Object.keys(one).sort()).toEqual(['delete', 'get', 'patch', 'put']);
    expect(one.put.parameters.map(({ name }: { name: string }) => name)).toEqual(
      expect.arrayContaining(['scope', 'name', 'dryRun', 'confirmRemovals', 'If-Match', 'If-None-Match']),
    );
    for (const path of Object.values<Record<string, { responses: object; operationId: string }>>(paths)) {
      for (const operation of Object.values(path)) expect(operation.responses).toHaveProperty('default');
    }
    const ids = Object.values<Record<string, { operationId: string }>>(paths).flatMap((path) =>
      Object.values(path).map(({ operationId }) => operationId),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('/docs', () => {
  it('works without any other server', async () => {
    const page = await api.call('GET', '/docs');
    expect(page.status).toBe(200);
    expect(page.headers['content-security-policy']).toContain("default-src 'none'");
    const sources = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, source]) => String(source));
    expect(sources.length).toBeGreaterThan(3);
    for (const source of sources) {
      expect(source).toMatch(/^\.?\/(docs\/)?static\//);
      const asset = await api.call('GET', source.replace(/^\./, '/docs'));
      expect(asset.status, source).toBe(200);
    }
    const script = await api.call('GET', '/docs/static/swagger-initializer.js');
    expect(script.text).toContain('validatorUrl: null');
    expect(script.text).not.toMatch(/https?:\/\/(?!stackoverflow)/);
    expect((await api.call('GET', '/docs/json')).body).toEqual((await api.call('GET', '/openapi.json')).body);
  });
});

interface AnswerSchema {
  readonly oneOf?: readonly { readonly $ref: string }[];
}

function schemasOf(responses: object): AnswerSchema[] {
  return Object.values(responses as Record<string, { content?: Record<string, { schema: AnswerSchema }> }>).flatMap(
    ({ content = {} }) => Object.values(content).map(({ schema }) => schema),
  );
}

describe('health', () => {
  it('says what is missing until the server is ready, and refuses reads and writes', async () => {
    api.unready.push('the store is not read yet');
    expect((await api.call('GET', '/healthz')).body).toEqual({ status: 'ok' });
    const ready = await api.call('GET', '/readyz');
    expect(ready.body).toMatchObject({ status: 503, code: 'NotReady', reasons: ['the store is not read yet'] });
    for (const [method, url] of [
      ['GET', '/v1/backend-pools'],
      ['GET', '/v1/proxies'],
      ['PUT', '/v1/scopes/default/backend-pools/web'],
      ['POST', '/v1/apply'],
    ] as const) {
      const answer = await api.call(method, url, method === 'GET' ? undefined : pool('web'));
      expect(answer.body).toMatchObject({ status: 503, code: 'NotReady' });
      expect(answer.headers['retry-after']).toBe('1');
    }
    for (const url of ['/metrics', '/openapi.json', '/docs']) expect((await api.call('GET', url)).status).toBe(200);
    api.unready.length = 0;
    expect((await api.call('GET', '/readyz')).body).toEqual({ status: 'ready', revision: '2' });
    expect((await api.call('GET', '/v1/backend-pools')).status).toBe(200);
  });

  it('has measurements', async () => {
    const answer = await api.call('GET', '/metrics');
    expect(answer.headers['content-type']).toContain('text/plain');
    expect(answer.text).toContain('fairway_up 1');
  });
});

describe('the age of the View', () => {
  it('is told once the store was silent for longer than it ever is', async () => {
    for (const [ms, header] of [
      [0, undefined],
      [1_500, undefined],
      [7_400, '7'],
    ] as const) {
      api.viewAge.ms = ms;
      for (const path of ['/v1/backend-pools', '/v1/proxies', '/v1/fleets/none']) {
        expect((await api.call('GET', path)).headers['fairway-view-age'], `${path} at ${ms}`).toBe(header);
      }
    }
  });
});

describe('/v1/proxies', () => {
  const proxy = (node: string, fleet: string) => ({
    node,
    nodeId: node,
    fleet,
    version: '1.40.0',
    connectedSince: '2030-01-01T00:00:00.000Z',
    replica: 'a',
    state: 'Synced' as const,
    types: [],
  });

  it('begins a comparison of all proxies, or of one', async () => {
    api.proxies.push(proxy('edge-1', 'edge'), proxy('edge-2', 'edge'));
    expect(await api.call('POST', '/v1/compare')).toMatchObject({ status: 202, body: { proxies: 2 } });
    expect(await api.call('POST', '/v1/proxies/edge-1/compare')).toMatchObject({ status: 202, body: { proxies: 1 } });
    expect((await api.call('POST', '/v1/proxies/edge-9/compare')).body).toMatchObject({
      status: 404,
      code: 'NotFound',
    });
    expect((await api.call('POST', '/v1/compare?node=edge-1')).body).toMatchObject({ status: 400, parameter: 'node' });
  });

  it('shows who is connected', async () => {
    api.proxies.push(proxy('edge-2', 'edge'), proxy('edge-1', 'edge'), proxy('core-1', 'core'));
    const all = await api.call('GET', '/v1/proxies');
    expect(all.body.items.map(({ node }: { node: string }) => node)).toEqual(['core-1', 'edge-1', 'edge-2']);
    expect((await api.call('GET', '/v1/proxies?fleet=core')).body.items).toHaveLength(1);
    expect((await api.call('GET', '/v1/proxies/edge-1')).body).toEqual(proxy('edge-1', 'edge'));
    expect((await api.call('GET', '/v1/proxies/edge-9')).body).toMatchObject({ status: 404, code: 'NotFound' });
    expect((await api.call('GET', '/v1/proxies?fleets=core')).body).toMatchObject({ status: 400, parameter: 'fleets' });
  });
});
