import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Piece, type Resource, typeUrls } from '../../../src/xds/index.ts';
import { missingNeeds, type StreamView } from '../../../src/xds/needs.ts';
import { withReadyPieces } from '../../../src/xds/piecewise.ts';
import { composeResource } from '../../../src/xds/resource.ts';
import { createTable } from '../../../src/xds/table.ts';
import { type Client, cluster, endpoint, needs, Rig, resource, route, text } from '../../support/xds-rig.ts';

/** A table of hosts: `{ a: 'c1' }` leads the host a to the cluster c1, and is written `a:c1 `. */
function table(hosts: Readonly<Record<string, string>>): Resource {
  const pieces = Object.entries(hosts).map(
    ([key, name]): Piece => ({
      key,
      bytes: new TextEncoder().encode(`${key}:${name} `),
      needs: [{ type: cluster, name }],
      units: [`Route/${key}`],
    }),
  );
  const composed = composeResource('r1', route, (to) => {
    for (const { bytes } of pieces) to.raw(bytes);
  });
  const parts = pieces.map(({ key, bytes }) => ({
    unit: `Route/${key}`,
    generation: bytes.byteLength,
    hash: new TextDecoder().decode(bytes),
  }));
  const all = [...new Set(Object.values(hosts))].sort().map((name) => ({ type: cluster, name }));
  return { type: route, name: 'r1', audience: 'all', ...composed, pieces, parts, needs: all };
}

const content = ({ pieces = [] }: Resource) =>
  pieces
    .map(({ bytes }) => new TextDecoder().decode(bytes))
    .join('')
    .trim();

describe('what is ready of a composite', () => {
  const isMissing = ({ name }: { name: string }) => name.startsWith('slow');
  type Hosts = Readonly<Record<string, string>>;
  it.each<[what: string, has: Hosts, wanted: Hosts, ready: string | undefined]>([
    ['a new piece, beside one that waits', { a: 'c1' }, { a: 'c1', b: 'slow', c: 'c1' }, 'a:c1 c:c1'],
    ['a changed one, beside one that stays as it was', { a: 'c1', b: 'c1' }, { a: 'c2', b: 'slow' }, 'a:c2 b:c1'],
    ['that one is gone', { a: 'c1', b: 'c1' }, { a: 'slow' }, 'a:c1'],
    ['nothing, when all that is new waits', { a: 'c1' }, { a: 'c1', b: 'slow' }, undefined],
    ['nothing, when nothing waits', { a: 'c1' }, { a: 'c1', b: 'c2' }, undefined],
    ['what leads to the same slow one as before', { a: 'slow' }, { a: 'slow', b: 'slow2', c: 'c1' }, 'a:slow c:c1'],
  ])('%s', (_, has, wanted, ready) => {
    const made = withReadyPieces(table(wanted), table(has), isMissing);
    expect(made && content(made)).toBe(ready);
  });

  it('is a resource of its own, with what it needs and is made from', () => {
    const made = withReadyPieces(table({ a: 'c2', b: 'slow', c: 'slow' }), table({ a: 'c1', b: 'c1' }), isMissing);
    const whole = table({ a: 'c2', b: 'c1' });
    expect(made).toMatchObject({ hash: whole.hash, bytes: whole.bytes, needs: whole.needs, parts: whole.parts });
  });

  it('is not known of what a client brought along, and of what has no pieces', () => {
    const { pieces: _, ...plain } = table({ a: 'c1' });
    expect(withReadyPieces(table({ a: 'c2', b: 'slow' }), plain, isMissing)).toBeUndefined();
    expect(withReadyPieces(table({ a: 'c2', b: 'slow' }), undefined, isMissing)).toBeUndefined();
    const brought = { hash: 'h', needs: undefined, parts: [] } as const;
    expect(withReadyPieces(table({ a: 'c2', b: 'slow' }), brought, isMissing)).toBeUndefined();
  });
});

/** The same, of which no piece is a value of another table. */
const copied = (resource: Resource): Resource => ({ ...resource, pieces: structuredClone(resource.pieces) ?? [] });

/** A table that has the pieces of another one where they are the same, as one has that follows it. */
function following(hosts: Readonly<Record<string, string>>, former: Resource): Resource {
  const made = table(hosts);
  const known = new Map(former.pieces?.map((piece) => [new TextDecoder().decode(piece.bytes), piece]));
  return {
    ...made,
    pieces: (made.pieces ?? []).map((piece) => known.get(new TextDecoder().decode(piece.bytes)) ?? piece),
  };
}

describe('a composite and the one before it', () => {
  const isMissing = ({ name }: { name: string }) => name.startsWith('slow');
  const hosts = fc
    .uniqueArray(fc.tuple(fc.constantFrom(...'abcdefghijkl'), fc.constantFrom('c1', 'c2', 'slow', 'slow2')), {
      selector: ([key]) => key,
      maxLength: 12,
    })
    .map((list) => Object.fromEntries(list.sort(([a], [b]) => (a < b ? -1 : 1))));

  it('have the same part that is ready, whether or not they share pieces', () => {
    fc.assert(
      fc.property(hosts, hosts, (has, wanted) => {
        const base = table(has);
        const { hash, bytes, needs, parts, pieces } = withReadyPieces(following(wanted, base), base, isMissing) ?? {};
        const other = withReadyPieces(table(wanted), copied(base), isMissing);
        expect({ hash, bytes, needs, parts, pieces }).toEqual({ ...nothing, ...picked(other) });
      }),
    );
  });

  it('differ in what they need as two plain ones do', () => {
    fc.assert(
      fc.property(hosts, hosts, (has, wanted) => {
        const base = table(has);
        const view = { state: () => undefined, table: createTable(), returned: true, audiences: new Set<string>() };
        const missing = (resource: Resource, form: Resource) =>
          new Set(missingNeeds(view as unknown as StreamView, resource, form).map(({ name }) => name));
        const { pieces: _, ...plain } = table(wanted);
        expect(missing(following(wanted, base), base)).toEqual(missing(plain, base));
      }),
    );
  });
});

const nothing = { hash: undefined, bytes: undefined, needs: undefined, parts: undefined, pieces: undefined };

function picked(resource: Resource | undefined): object {
  if (resource === undefined) return {};
  const { hash, bytes, needs, parts, pieces } = resource;
  return { hash, bytes, needs, parts, pieces };
}

describe('a stream', () => {
  const pool = (name: string, warmupMs?: number) => [
    resource(cluster, name, '1', { ...needs(endpoint, name), ...(warmupMs === undefined ? {} : { warmupMs }) }),
    resource(endpoint, name),
  ];

  function filled(): { rig: Rig; client: Client } {
    const rig = new Rig({ needMs: 5_000 });
    rig.commit([...pool('c1'), table({ a: 'c1' })]);
    const client = rig.join({ typeUrl: cluster });
    client.settle();
    client.send({ typeUrl: endpoint, subscribe: ['c1', 'c2', 'slow'] });
    client.send({ typeUrl: route, subscribe: ['r1'] });
    client.settle();
    return { rig, client };
  }

  /** Acknowledges all but the cluster that warms; gives the tables that came. */
  function tables(client: Client): string[] {
    const came: string[] = [];
    for (let responses = client.take(); responses.length > 0; responses = client.take()) {
      for (const response of responses) {
        if (response.typeUrl === route) came.push(text(response).trim());
        if (response.typeUrl !== typeUrls.cluster || !text(response).includes('slow')) client.ack(response);
      }
    }
    return came;
  }

  it('sends what is ready of a table, and the rest once it is, at last by its deadline', () => {
    const { rig, client } = filled();
    rig.commit([...pool('slow', 3_000), table({ a: 'c1', s: 'slow' })]);
    expect(tables(client)).toEqual([]);
    rig.commit([...pool('c2'), table({ a: 'c1', b: 'c2', s: 'slow' })]);
    expect(tables(client)).toEqual(['a:c1 b:c2']);
    rig.commit([table({ a: 'c2', b: 'c2', s: 'slow' })]);
    expect(tables(client)).toEqual(['a:c2 b:c2']);
    // The whole waits since the first of these changes.
    rig.pass(7_900);
    expect(tables(client)).toEqual([]);
    rig.pass(200);
    expect(tables(client)).toEqual(['a:c2 b:c2 s:slow']);
    expect(rig.events('stalled')).toMatchObject([{ reason: 'needs', names: ['r1'], missing: { name: 'slow' } }]);
    // What it uses by now is not waited for again.
    rig.commit([table({ a: 'c1', b: 'c2', s: 'slow' })]);
    expect(tables(client)).toEqual(['a:c1 b:c2 s:slow']);
  });

  it('gives what came to be missing later a time of its own', () => {
    const { rig, client } = filled();
    rig.commit([...pool('slow', 3_000), table({ a: 'c1', s: 'slow' })]);
    expect(tables(client)).toEqual([]);
    rig.pass(7_000);
    rig.commit([...pool('slow2', 3_000), table({ a: 'slow2', s: 'slow' })]);
    client.send({ typeUrl: endpoint, subscribe: ['slow2'] });
    expect(tables(client)).toEqual([]);
    rig.pass(1_100);
    // The first has had its time; the host that moved stays where it is until its new pool is ready.
    expect(tables(client)).toEqual(['a:c1 s:slow']);
    rig.pass(5_000);
    expect(tables(client)).toEqual([]);
    rig.pass(3_100);
    expect(tables(client)).toEqual(['a:slow2 s:slow']);
  });
});
