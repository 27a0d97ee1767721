import { describe, expect, test } from 'vitest';
import { lint } from '../../../src/translate/index.ts';
import { type Resource, typeUrls } from '../../../src/xds/index.ts';
import { worldOf } from '../../golden/cases.ts';

/** The resources of a golden case without one of them. */
function without(name: string, type: string, gone: string): Resource[] {
  const resources = worldOf(name).resources();
  const rest = resources.filter((resource) => resource.type !== type || resource.name !== gone);
  expect(rest).toHaveLength(resources.length - 1);
  return rest;
}

describe('lint', () => {
  test.each<[what: string, name: string, type: string, gone: string, users: string[]]>([
    ['cluster of a route', 'minimal', typeUrls.cluster, 'default/web', ['default/shop:80']],
    ['cluster among shares', 'weights', typeUrls.cluster, 'default/b', ['default/shop:80']],
    ['cluster of a TCP listener', 'tcp', typeUrls.cluster, 'default/db', ['default/data/any:5432']],
    ['stand-in cluster', 'tcp-without-pool', typeUrls.cluster, 'fairway:unavailable', ['default/data/any:5432']],
    ['assignment', 'minimal', typeUrls.endpoint, 'default/web', ['default/web']],
    ['route table', 'minimal', typeUrls.route, 'default/shop:80', ['default/shop/any:80']],
    ['HTTP policy', 'minimal', typeUrls.extension, 'policy/http/default/shop', ['default/shop/any:80']],
    [
      'TCP policy',
      'tcp',
      typeUrls.extension,
      'policy/net/default/data',
      ['default/data/any:5432', 'default/data/any:6379'],
    ],
    ['certificate', 'https', typeUrls.secret, 'default/other-tls', ['default/shop/any:443']],
    [
      'CA of a pool',
      'upstream-tls',
      typeUrls.secret,
      'default/internal-ca',
      ['default/auto', 'default/named', 'default/unnamed'],
    ],
    ['certificate of a pool', 'upstream-tls', typeUrls.secret, 'default/client', ['default/named']],
  ])('a missing %s', (_what, name, type, gone, users) => {
    const problems = lint(without(name, type, gone));
    expect(new Set(problems.map((problem) => problem.name))).toEqual(new Set(users));
    for (const { problem } of problems) expect(problem).toContain(`${gone}, which is not there`);
  });

  test('a listener on a socket that another has, and a resource twice', () => {
    const resources = worldOf('minimal').resources();
    const [listener] = resources.filter(({ type }) => type === typeUrls.listener) as [Resource];
    expect(lint([...resources, listener]).map(({ problem }) => problem)).toEqual([
      'is there twice',
      'listens where default/shop/any:80 does',
    ]);
  });

  test('a domain twice in one route table', () => {
    const world = worldOf('minimal', {
      rawPatch: (type, _name, message) => {
        if (type === typeUrls.route) {
          message['virtualHosts'] = [message['virtualHosts'], message['virtualHosts']].flat();
        }
      },
    });
    expect(lint(world.resources())).toEqual([
      { type: typeUrls.route, name: 'default/shop:80', problem: 'has the domain * twice' },
    ]);
  });
});
