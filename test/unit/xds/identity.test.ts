/** Rule 41 on the machines: what a client is known to be before it says anything. */
import { describe, expect, it } from 'vitest';
import { encodeNode } from '../../../src/xds/index.ts';
import { Rig, resource, secret } from '../../support/xds-rig.ts';

const identity = { nodeId: 'n1', cluster: 'edge' };

function rig(): Rig {
  const made = new Rig();
  made.commit([resource(secret, 'own'), resource(secret, 'theirs', '1', { audience: 'others' })]);
  return made;
}

describe('a client with an identity', () => {
  const cases: readonly [name: string, node: { id: string; cluster: string }, words: string | undefined][] = [
    ['calls itself what it is', { id: 'n1', cluster: 'edge' }, undefined],
    ['calls itself another node', { id: 'n2', cluster: 'edge' }, 'the certificate is that of the node n1, not of n2'],
    ['claims another fleet', { id: 'n1', cluster: 'core' }, 'the certificate is for the fleet edge, not for core'],
    [
      'has a name without end',
      { id: 'n'.repeat(9_999), cluster: 'edge' },
      `the certificate is that of the node n1, not of ${'n'.repeat(100)}…`,
    ],
    ['claims no fleet', { id: 'n1', cluster: '' }, 'the certificate is for the fleet edge, not for '],
  ];

  it.each(cases)('rule 41: %s', (_name, node, words) => {
    const made = rig();
    const client = made.open({ identity });
    client.send({ typeUrl: secret, subscribe: ['own'], node: encodeNode(node) });
    expect(client.error).toEqual(words === undefined ? undefined : { reason: 'wrong-identity', words });
    expect(client.texts()).toEqual(words === undefined ? ['secret: own=1'] : []);
    expect(made.events('opened')).toHaveLength(words === undefined ? 1 : 0);
  });

  it.each(cases)('rule 41: state-of-the-world: %s', (_name, node, words) => {
    const made = rig();
    const client = made.openSotw({ identity }, node);
    client.want(secret, ['own']);
    expect(client.error).toEqual(words === undefined ? undefined : { reason: 'wrong-identity', words });
    expect(client.texts()).toEqual(words === undefined ? ['secret: own=1'] : []);
  });

  it('rule 41: is not listened to any more after that', () => {
    const made = rig();
    const client = made.open({ identity });
    client.send({ typeUrl: secret, subscribe: ['own'], node: encodeNode({ id: 'n2', cluster: 'edge' }) });
    expect(made.hub.fleet.streams()).toEqual([]);
  });
});

describe('a secret of others', () => {
  it('rule 41: is not there for who asks for it, and that is told once', () => {
    const made = rig();
    const client = made.open({ identity });
    client.send({ typeUrl: secret, subscribe: ['own', 'theirs', 'nobodys'], node: made.node });
    expect(client.settle()).toEqual(['secret: own=1', 'secret: -nobodys -theirs']);
    client.send({ typeUrl: secret, unsubscribe: ['theirs'] });
    client.send({ typeUrl: secret, subscribe: ['theirs'] });
    expect(client.settle()).toEqual(['secret: -theirs']);
    expect(made.events('foreign')).toMatchObject([
      { nodeId: 'n1', cluster: 'edge', type: secret, name: 'theirs', streamId: client.stream.id },
    ]);
  });

  it('rule 41: state-of-the-world: does not come, and that is told', () => {
    const made = rig();
    const client = made.openSotw({ identity });
    client.want(secret, ['own', 'theirs']);
    expect(client.texts()).toEqual(['secret: own=1']);
    expect(made.events('foreign')).toMatchObject([{ nodeId: 'n1', name: 'theirs' }]);
  });

  it('rule 41: comes when it becomes its own', () => {
    const made = rig();
    const client = made.open({ identity });
    client.send({ typeUrl: secret, subscribe: ['theirs'], node: made.node });
    expect(client.settle()).toEqual(['secret: -theirs']);
    made.commit([resource(secret, 'theirs')]);
    expect(client.settle()).toEqual(['secret: theirs=1']);
  });
});
