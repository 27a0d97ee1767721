import { create } from '@bufbuild/protobuf';
import { describe, expect, test } from 'vitest';
import {
  FilterChainSchema,
  FilterSchema,
  ListenerFilterSchema,
} from '../../../src/gen/envoy/config/listener/v3/listener_components_pb.js';
import { type Listener, ListenerSchema } from '../../../src/gen/envoy/config/listener/v3/listener_pb.js';
import { socketAddress } from '../../../src/translate/address.ts';
import { type Drains, drains } from '../../../src/translate/drain.ts';
import { createEncoder, whole as writing } from '../../../src/translate/encode.ts';
import { allowAll } from '../../../src/translate/filter-chain-matcher.ts';
import { typeUrls } from '../../../src/xds/index.ts';

const chain = (name: string, filter = 'f') =>
  create(FilterChainSchema, { name, filters: [create(FilterSchema, { name: filter })] });

function listener(change: Partial<Listener> = {}) {
  const message = create(ListenerSchema, {
    name: 'l',
    address: socketAddress('203.0.113.10', 443),
    filterChains: [chain('a'), chain('b')],
    filterChainMatcher: allowAll('a'),
  });
  Object.assign(message, change);
  const outline = { type: typeUrls.listener, name: 'l', audience: 'fleet/edge' };
  return createEncoder(undefined).plain(
    outline,
    { unit: 'u', generation: 1 },
    ListenerSchema,
    writing(ListenerSchema, message),
  );
}

const none: Drains = { listeners: [], filterChains: [] };
const whole: Drains = { listeners: ['l'], filterChains: [] };
const chains = (...filterChains: string[]): Drains => ({ listeners: [], filterChains });

describe('a change of a listener drains', () => {
  test.each<[string, Partial<Listener>, Drains]>([
    ['nothing, when it is the same', {}, none],
    ['nothing, for another order of chains', { filterChains: [chain('b'), chain('a')] }, none],
    ['nothing, for a further chain', { filterChains: [chain('a'), chain('b'), chain('c')] }, none],
    ['nothing, for the choice of the chain', { filterChainMatcher: allowAll('b') }, none],
    ['the chain whose content changed', { filterChains: [chain('a'), chain('b', 'g')] }, chains('l#b')],
    ['the chain that is gone', { filterChains: [chain('a')] }, chains('l#b')],
    ['the chain that has another name', { filterChains: [chain('z'), chain('b')] }, chains('l#a')],
    ['all, for another address', { address: socketAddress('203.0.113.11', 443) }, whole],
    ['all, for a listener filter', { listenerFilters: [create(ListenerFilterSchema, { name: 'x' })] }, whole],
  ])('%s', (_name, change, want) => {
    expect(drains(listener(), listener(change))).toEqual(want);
  });

  test('all, when it goes; nothing, when it comes', () => {
    expect(drains(listener(), undefined)).toEqual(whole);
    expect(drains(undefined, listener())).toEqual(none);
  });
});
