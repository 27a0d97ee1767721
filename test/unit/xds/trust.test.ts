/** Rule 34 on the machines: what a replica sends that lags behind the store, or may lag. */
import { describe, expect, it } from 'vitest';
import { cluster, endpoint, extension, listener, needs, Rig, resource, route } from '../../support/xds-rig.ts';

const hash = (...of: Parameters<typeof resource>) => resource(...of).hash;

describe('a stream whose replica is not known to be in step', () => {
  it('rule 34: is sent nothing, and then all from the newest state', () => {
    const rig = new Rig();
    rig.commit([resource(cluster, 'c1')]);
    const client = rig.open({ trust: 'nothing' });
    client.send({ typeUrl: cluster, node: rig.node, initialVersions: new Map([['c1', hash(cluster, 'c1', '2')]]) });
    rig.pass(60_000);
    expect(client.texts()).toEqual([]);
    expect(rig.events('acked')).toEqual([]);
    expect(rig.events('filled')).toEqual([]);
    rig.commit([resource(cluster, 'c1', '2')]);
    expect(client.texts()).toEqual([]);
    client.stream.setTrust('complete');
    // The client has it already: only the wildcard is answered.
    expect(client.texts()).toEqual(['cluster:']);
    expect(rig.events('stalled')).toEqual([]);
  });

  it('rule 34: of state-of-the-world is sent nothing either', () => {
    const rig = new Rig();
    rig.commit([resource(cluster, 'c1')]);
    const client = rig.openSotw({ trust: 'nothing' });
    client.want(cluster);
    rig.pass(60_000);
    expect(client.texts()).toEqual([]);
    client.stream.setTrust('complete');
    expect(client.texts()).toEqual(['cluster: c1=1']);
  });

  it('rule 29: the first wildcard request is not answered by nothing before it is in step', () => {
    const rig = new Rig();
    rig.commit([]);
    const client = rig.open({ trust: 'additions' });
    client.send({ typeUrl: cluster, node: rig.node });
    expect(client.texts()).toEqual([]);
    client.stream.setTrust('complete');
    expect(client.texts()).toEqual(['cluster:']);
  });
});

describe('additions only', () => {
  it('rule 34: no removal, and no replacement of a version that its own history does not know', () => {
    const rig = new Rig({ needMs: 5_000 });
    rig.commit(['older', 'same', 'newer', 'added'].map((name) => resource(cluster, name)));
    rig.commit([resource(cluster, 'older', '2')]);
    const client = rig.open({ trust: 'additions' });
    client.send({
      typeUrl: cluster,
      node: rig.node,
      initialVersions: new Map([
        ['older', hash(cluster, 'older')],
        ['same', hash(cluster, 'same')],
        ['newer', hash(cluster, 'newer', '2')],
        ['gone here', hash(cluster, 'gone here')],
      ]),
    });
    expect(client.settle()).toEqual(['cluster: added=1 older=2']);
    // However long it takes: it does not count as a wait for what is needed, nor as a proxy that is behind.
    rig.pass(60_000);
    expect(client.settle()).toEqual([]);
    expect(rig.events('stalled')).toEqual([]);
    expect(rig.events('filled')).toEqual([]);
    rig.commit([resource(cluster, 'newer', '2'), resource(cluster, 'gone here', '2')]);
    expect(client.settle()).toEqual([]);
    client.stream.setTrust('complete');
    expect(client.settle()).toEqual(['cluster: gone here=2']);
  });

  it('rule 34: what was changed and taken away is caught up with when it is in step', () => {
    const rig = new Rig();
    rig.commit([resource(route, 'r1', 'mine')]);
    const client = rig.open({ trust: 'additions' });
    client.send({
      typeUrl: route,
      node: rig.node,
      subscribe: ['r1', 'r2'],
      initialVersions: new Map(['r1', 'r2'].map((name) => [name, 'unknown'])),
    });
    expect(client.settle()).toEqual([]);
    client.stream.setTrust('complete');
    expect(client.settle().sort()).toEqual(['route: -r2', 'route: r1=mine']);
  });

  it('rule 34: a name that does not exist is not told as removed before it is in step', () => {
    const rig = new Rig();
    rig.commit([]);
    const client = rig.open({ trust: 'additions' });
    client.send({ typeUrl: endpoint, node: rig.node, subscribe: ['a'] });
    expect(client.settle()).toEqual([]);
    client.stream.setTrust('complete');
    expect(client.settle()).toEqual(['endpoint: -a']);
  });

  it('rule 34: an empty assignment replaces none that it does not know', () => {
    const rig = new Rig();
    rig.commit([resource(cluster, 'c1', '1', needs(endpoint, 'c1'))]);
    const client = rig.open({ trust: 'additions' });
    client.send({ typeUrl: cluster, node: rig.node, initialVersions: new Map([['c1', hash(cluster, 'c1')]]) });
    client.send({ typeUrl: endpoint, subscribe: ['c1'], initialVersions: new Map([['c1', 'newer']]) });
    rig.pass(60_000);
    expect(client.settle()).toEqual([]);
  });

  it('rule 34: only so many earlier forms are known', () => {
    const rig = new Rig();
    for (let at = 0; at <= 20; at++) rig.commit([resource(extension, 'e1', `${at}`)]);
    const sent = [0, 11, 12, 19, 20].map((held) => {
      const client = rig.open({ trust: 'additions' });
      const initialVersions = new Map([['e1', hash(extension, 'e1', `${held}`)]]);
      client.send({ typeUrl: extension, node: rig.node, subscribe: ['e1'], initialVersions });
      return client.settle().length;
    });
    expect(sent).toEqual([0, 0, 1, 1, 0]);
  });

  it('rule 34: of state-of-the-world, who came with something gets nothing, others get all', () => {
    const rig = new Rig();
    rig.commit([resource(cluster, 'c1'), resource(listener, 'l1')]);
    const back = rig.openSotw({ trust: 'additions' });
    back.versions.set(cluster, '7');
    back.want(cluster);
    // It brought nothing of this type, so there is nothing to lose.
    back.want(listener);
    expect(back.settle()).toEqual(['listener: l1=1']);
    const fresh = rig.openSotw({ trust: 'additions' }, { id: 'n2', cluster: 'edge' });
    fresh.want(cluster);
    expect(fresh.settle()).toEqual(['cluster: c1=1']);
    back.stream.setTrust('complete');
    expect(back.settle()).toEqual(['cluster: c1=1']);
  });
});
