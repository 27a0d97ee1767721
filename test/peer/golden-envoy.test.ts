/** Every golden case is accepted by a real Envoy: one process, our own delta ADS, one case after the other. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { typeUrls } from '../../src/xds/index.ts';
import { caseNames, worldOf } from '../golden/cases.ts';
import { type ProxiedWorld, startProxiedWorld, withoutPorts } from '../support/proxied-world.ts';

describe('a real Envoy accepts', () => {
  let proxied: ProxiedWorld;
  beforeAll(async () => {
    proxied = await startProxiedWorld('edge');
  });
  afterAll(() => proxied?.close());

  test.each(caseNames)('%s', async (name) => {
    const world = worldOf(name, { rawPatch: withoutPorts });
    expect(await proxied.serve(world)).toEqual([]);
  });

  test('and refuses what is wrong', async () => {
    const world = worldOf('minimal', {
      rawPatch: (type, name, message) => {
        withoutPorts(type, name, message);
        if (type === typeUrls.route)
          message['virtualHosts'] = [message['virtualHosts'], message['virtualHosts']].flat();
      },
    });
    const refused = await proxied.serve(world);
    expect(refused).toEqual([
      expect.stringMatching(/^RouteConfiguration default\/shop:80: rejected .*wildcard domain/),
    ]);
  });

  test('without a word about deprecated or missing fields', () => {
    const lines = proxied.envoy.log().split('\n');
    expect(lines.filter((line) => /deprecated|unknown field|not configured/i.test(line))).toEqual([]);
  });
});
