/** First fills that streams have in common: what each is sent is what it would be sent alone. */
import { describe, expect, it } from 'vitest';
import type { Resource, TypeUrl } from '../../../src/xds/index.ts';
import { type Client, cluster, endpoint, listener, needs, Rig, resource, route } from '../../support/xds-rig.ts';

const names = Array.from({ length: 100 }, (_, at) => `n${at}`);

function all(type: TypeUrl, content = '1', rest: Partial<Resource> = {}): Resource[] {
  return names.map((name) => resource(type, name, content, rest));
}

/** What the client was sent of a type until nothing came any more, as `name=content`, and in how many responses. */
function fill(client: Client, type: TypeUrl): { readonly texts: readonly string[]; readonly responses: number } {
  const texts: string[] = [];
  let responses = 0;
  for (let taken = client.take(); taken.length > 0; taken = client.take()) {
    for (const response of taken) {
      client.ack(response);
      if (response.typeUrl !== type) continue;
      responses += 1;
      for (const { value } of response.resources) texts.push(new TextDecoder().decode(value));
      texts.push(...response.removed.map((name) => `-${name}`));
    }
  }
  return { texts: texts.sort(), responses };
}

function connect(rig: Rig, id: string, type: TypeUrl, subscribe: readonly string[] = []): Client {
  return rig.join({ typeUrl: type, subscribe }, { id, cluster: 'edge' });
}

const wanted = (content = '1') => names.map((name) => `${name}=${content}`).sort();

describe('streams that are sent the same', () => {
  it.each<[string, TypeUrl, readonly string[]]>([
    ['everything of a type', cluster, []],
    ['a list of names', endpoint, names],
    ['a list of names that go one by one', route, names],
  ])('%s', (_what, type, subscribe) => {
    const rig = new Rig();
    rig.commit(all(type));
    const fills = ['a', 'b', 'c'].map((id) => fill(connect(rig, id, type, subscribe), type));
    expect(fills.map(({ texts }) => texts)).toEqual([wanted(), wanted(), wanted()]);
    expect(new Set(fills.map(({ responses }) => responses)).size).toBe(1);
  });

  it('a change in the middle of a split list comes with it, or after it', () => {
    const rig = new Rig({ maxFrameBytes: 1_000 });
    rig.commit(all(endpoint));
    expect(fill(connect(rig, 'a', endpoint, names), endpoint).texts).toEqual(wanted());
    const client = connect(rig, 'b', endpoint, names);
    const [first] = client.take();
    rig.commit(all(endpoint, '2'));
    client.ack(first);
    expect(fill(client, endpoint).texts).toEqual(wanted('2'));
    expect(fill(connect(rig, 'c', endpoint, names), endpoint).texts).toEqual(wanted('2'));
  });

  it('names that are given up or asked for again in the middle are no longer in common', () => {
    const rig = new Rig({ maxFrameBytes: 1_000 });
    rig.commit(all(endpoint));
    fill(connect(rig, 'a', endpoint, names), endpoint);
    const client = connect(rig, 'b', endpoint, names);
    const [first] = client.take();
    client.send({ typeUrl: endpoint, unsubscribe: ['n98', 'n99'] });
    client.ack(first);
    const rest = fill(client, endpoint).texts;
    expect(rest).not.toContain('n98=1');
    expect([...(first?.resources ?? []).map(({ name }) => `${name}=1`), ...rest].sort()).toEqual(
      wanted().filter((text) => text !== 'n98=1' && text !== 'n99=1'),
    );
  });
});

describe('streams that are not alike get each its own', () => {
  it('other audiences', () => {
    const rig = new Rig();
    rig.commit([...all(cluster).slice(0, 80), ...all(cluster, '1', { audience: 'more' }).slice(80)], {
      audiences: [
        { subject: 'cluster/edge', audiences: ['all'] },
        { subject: 'node/b', audiences: ['more'] },
      ],
    });
    expect(fill(connect(rig, 'a', cluster), cluster).texts.length).toBe(80);
    expect(fill(connect(rig, 'b', cluster), cluster).texts).toEqual(wanted());
    expect(fill(connect(rig, 'c', cluster), cluster).texts.length).toBe(80);
  });

  it('clusters that are not ready yet', () => {
    const rig = new Rig();
    rig.commit([...all(cluster), ...all(endpoint), ...all(listener, '1', needs(cluster, 'n0'))]);
    // Who asks for no clusters waits for none.
    expect(fill(connect(rig, 'a', listener), listener).texts).toEqual(wanted());
    const client = connect(rig, 'b', cluster);
    client.send({ typeUrl: listener });
    const taken = client.take();
    expect(taken.map(({ typeUrl }) => typeUrl)).toEqual([cluster]);
  });

  it('a name that does not exist is told as removed to each', () => {
    const rig = new Rig();
    rig.commit(all(endpoint).slice(1));
    const texts = ['a', 'b'].map((id) => fill(connect(rig, id, endpoint, names), endpoint).texts);
    expect(texts).toEqual([texts[0], texts[0]]);
    expect(texts[0]).toContain('-n0');
  });

  it('what a client brings along is compared', () => {
    const rig = new Rig();
    rig.commit(all(cluster));
    fill(connect(rig, 'a', cluster), cluster);
    const initialVersions = new Map(all(cluster).map(({ name, hash }) => [name, hash]));
    const client = rig.join({ typeUrl: cluster, initialVersions }, { id: 'b', cluster: 'edge' });
    // The first `*` is answered, with nothing.
    expect(client.take().map(({ resources }) => resources.length)).toEqual([0]);
  });
});

it('rule 33: assignments that clusters of a common fill use are sent although the client has them', () => {
  const rig = new Rig();
  rig.commit([...all(cluster), ...all(endpoint)]);
  fill(connect(rig, 'a', cluster), cluster);
  const client = connect(rig, 'b', cluster);
  fill(client, cluster);
  const initialVersions = new Map(all(endpoint).map(({ name, hash }) => [name, hash]));
  client.send({ typeUrl: endpoint, subscribe: names, initialVersions });
  expect(fill(client, endpoint).texts).toEqual(wanted());
});
