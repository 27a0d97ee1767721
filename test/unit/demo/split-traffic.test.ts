import { expect, it } from 'vitest';
import { readManifests } from '../../../src/demo/examples.ts';
import { withWeights } from '../../../src/demo/steps/split-traffic.ts';

it('the split changes the weights of the rule home and nothing else', () => {
  const shop = readManifests().find(({ kind, metadata }) => kind === 'VirtualService' && metadata.name === 'shop');
  if (shop?.kind !== 'VirtualService') throw new Error('the examples have no service shop');
  const text = JSON.stringify(shop.spec.listeners)
    .replace('{"pool":"web","weight":100}', '{"pool":"web","weight":90}')
    .replace('{"pool":"next","weight":0}', '{"pool":"next","weight":10}');
  const split = withWeights(shop.spec);
  expect(split).toEqual(JSON.parse(text));
  expect(split).not.toEqual(shop.spec.listeners);
});
