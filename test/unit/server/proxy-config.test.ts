import { expect, it } from 'vitest';
import { configOf } from '../../../src/server/proxy-config.ts';
import { cluster, endpoint, Rig, resource } from '../../support/xds-rig.ts';

it('tells of very many resources in pieces, in order, and of one type alone', () => {
  const rig = new Rig();
  const names = Array.from({ length: 10_000 }, (_, at) => `e${at}`);
  const parts = [{ unit: 'BackendPool/default/web', generation: 1, hash: 'h' }];
  rig.commit([...names.map((name) => resource(endpoint, name, '1', { parts })), resource(cluster, 'c')]);
  const client = rig.join({ typeUrl: cluster });
  client.send({ typeUrl: endpoint, subscribe: names });
  client.settle();
  rig.commit([resource(endpoint, 'e5', '2')]);
  client.take();
  const [stream] = rig.hub.fleet.streams();
  if (stream === undefined) throw new Error('there is no stream');

  const pieces = configOf(rig.hub, stream, { type: undefined, content: false });
  let count = 0;
  let piece = pieces.next();
  for (; !piece.done; piece = pieces.next()) count += 1;
  // The names, their order, their versions, and what is said of each.
  expect(count).toBeGreaterThan(80);
  const all = piece.value;
  expect(all.map(({ name }) => name)).toEqual(['c', ...names.toSorted()]);
  expect(all.find(({ name }) => name === 'e5')).toMatchObject({ type: endpoint, state: 'pending' });
  expect(all.find(({ name }) => name === 'e4')).toMatchObject({
    state: 'acknowledged',
    from: ['BackendPool default/web'],
  });

  const clusters = configOf(rig.hub, stream, { type: 'Cluster', content: false });
  for (piece = clusters.next(); !piece.done; piece = clusters.next());
  expect(piece.value.map(({ name }) => name)).toEqual(['c']);
});
