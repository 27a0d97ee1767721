/**
 * Any interleaving of commits, subscriptions, answers (late ones too), refusals, reconnects and slow sockets ends with
 * each client holding exactly what the table says, and no message on the way changes nothing.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { contentHash } from '../../src/lib/hash.ts';
import {
  createDeltaClient,
  type DeltaClient,
  encodeNode,
  encodeResource,
  type HubStream,
  joinFrame,
  type Protocol,
  type Resource,
  type TypeUrl,
  typeUrls,
  type WireResource,
  wildcardName,
} from '../../src/xds/index.ts';
import { type DeltaResponse, decodeDeltaResponse } from '../../src/xds/wire.ts';
import { createSotwClient, fullSets, type SotwClient } from '../support/sotw-client.ts';
import { Rig } from '../support/xds-rig.ts';

const { cluster, endpoint, extension, listener, route, secret } = typeUrls;
const types = [cluster, endpoint, extension, listener, route, secret];
const names = ['a', 'b', 'c', 'd'];

/** What a resource is made of stands in its bytes, so that the client's side can be judged by what it holds. */
interface Content {
  readonly text: string;
  readonly needs: readonly string[];
}

function contentOf(resource: WireResource | undefined): Content | undefined {
  if (resource === undefined) return undefined;
  // The empty assignment is protobuf and no JSON.
  const text = new TextDecoder().decode(resource.value);
  return text.startsWith('{') ? (JSON.parse(text) as Content) : { text: 'empty', needs: [] };
}

function isBad(resource: WireResource): boolean {
  return contentOf(resource)?.text.startsWith('bad') === true;
}

function make(type: TypeUrl, name: string, audience: string, content: Content): Resource {
  const value = new TextEncoder().encode(JSON.stringify({ ...content, name }));
  const hash = contentHash(value);
  const bytes = encodeResource(name, hash, type, value);
  return {
    type,
    name,
    bytes,
    hash,
    audience,
    needs: content.needs.map((need) => ({ type: cluster, name: need })),
    parts: [],
  };
}

function nameOf(_type: TypeUrl, value: Uint8Array): string {
  const text = new TextDecoder().decode(value);
  return text.startsWith('{') ? JSON.parse(text).name : new TextDecoder().decode(value.subarray(2));
}

/** A client, and what its server owes it: names it asked to be answered although it has them. */
class Toy {
  readonly id: string;
  readonly protocol: Protocol;
  readonly client: DeltaClient | SotwClient;
  readonly inbox: Uint8Array[] = [];
  stream: HubStream | undefined;
  readonly wanted = new Map<TypeUrl, Set<string>>();
  /** How many messages that change nothing may come for a name: it was asked for again, or was refused with others. */
  readonly excused = new Map<string, number>();
  readonly faults: string[] = [];
  /** It accepted clusters on this connection. */
  #hasClusters = false;

  constructor(id: string, protocol: Protocol) {
    this.id = id;
    this.protocol = protocol;
    const options = {
      node: encodeNode({ id, cluster: 'edge' }),
      check: (_type: TypeUrl, resource: WireResource) => (isBad(resource) ? 'it is bad' : undefined),
    };
    this.client = protocol === 'delta' ? createDeltaClient(options) : createSotwClient({ ...options, nameOf });
  }

  disconnected(): void {
    this.#hasClusters = false;
    this.client.disconnected();
  }

  /** Whether responses of the type are full sets: then it does not matter which name an excuse is for. */
  #isWhole(type: TypeUrl): boolean {
    return this.protocol === 'sotw' && fullSets.includes(type);
  }

  wants(type: TypeUrl, name: string): boolean {
    const wanted = this.wanted.get(type);
    return wanted?.has(name) === true || wanted?.has(wildcardName) === true;
  }

  excuse(type: TypeUrl, name: string): void {
    const key = this.#isWhole(type) ? type : `${type} ${name}`;
    this.excused.set(key, (this.excused.get(key) ?? 0) + 1);
  }

  #useExcuse(type: TypeUrl, name: string): boolean {
    const key = this.#isWhole(type) ? type : `${type} ${name}`;
    const count = this.excused.get(key) ?? 0;
    this.excused.set(key, Math.max(0, count - 1));
    return count > 0;
  }

  /** Takes the oldest message of the inbox, after judging whether it was of use. */
  read(): readonly Uint8Array[] {
    const bytes = this.inbox.shift();
    if (bytes === undefined) return [];
    const response = 'read' in this.client ? this.client.read(bytes) : readDelta(bytes);
    if (this.#isWhole(response.typeUrl)) this.#judgeWhole(response);
    else this.#judge(response);
    if (response.typeUrl === cluster) {
      // Rule 35: endpoints follow a changed cluster, even one that is refused. What a client of state-of-the-world has
      // is known only once it has accepted something.
      const held = this.client.resources(cluster);
      const isUnknown = this.protocol === 'sotw' && !this.#hasClusters;
      for (const { name, version } of response.resources) {
        if (isUnknown || held.get(name)?.version !== version) this.excuse(endpoint, name);
      }
    }
    const step = this.client.receive(bytes);
    if (response.typeUrl === cluster && step.refused === undefined) this.#hasClusters = true;
    if (step.refused !== undefined) {
      // What was refused with others is sent again; what was in flight behind it was sent without knowing.
      for (const { name } of response.resources) this.excuse(response.typeUrl, name);
      for (const name of response.removed) this.excuse(response.typeUrl, name);
    }
    return step.requests;
  }

  /** A client of state-of-the-world that was busy: of several messages of a type it answers the last alone. */
  readBusy(): readonly Uint8Array[] {
    for (;;) {
      const [now, next] = this.inbox
        .slice(0, 2)
        .map((bytes) => ('read' in this.client ? this.client.read(bytes) : undefined));
      const requests = this.read();
      if (now === undefined || now.typeUrl !== next?.typeUrl) return requests;
      for (const name of [...now.resources.map((one) => one.name), ...now.removed]) this.excuse(now.typeUrl, name);
    }
  }

  /** A full set is of use when anything in it is. */
  #judgeWhole({ typeUrl, resources, removed }: Said): void {
    const held = this.client.resources(typeUrl);
    const names = resources.map(({ name }) => name);
    if (new Set(names).size < names.length) this.faults.push(`twice ${typeUrl}`);
    const changed = resources.some(
      ({ name, version }) => this.wants(typeUrl, name) && held.get(name)?.version !== version,
    );
    if (changed || removed.length > 0 || this.#useExcuse(typeUrl, wildcardName)) return;
    this.faults.push(`unchanged ${typeUrl}: ${names}`);
  }

  #judge({ typeUrl, resources, removed }: Said): void {
    const held = this.client.resources(typeUrl);
    // A new `*` is answered even by nothing.
    if (resources.length + removed.length === 0 && !this.#useExcuse(typeUrl, wildcardName)) {
      this.faults.push(`empty ${typeUrl}`);
    }
    const seen = new Set<string>();
    for (const name of [...resources.map((one) => one.name), ...removed]) {
      if (seen.has(name)) this.faults.push(`twice ${typeUrl} ${name}`);
      seen.add(name);
    }
    for (const { name, version } of resources) {
      if (!this.wants(typeUrl, name) || held.get(name)?.version !== version) continue;
      if (!this.#useExcuse(typeUrl, name)) this.faults.push(`unchanged ${typeUrl} ${name}`);
    }
    for (const name of removed) {
      if (typeUrl === extension) this.faults.push(`removed ${typeUrl} ${name}`);
      if (!this.wants(typeUrl, name) || held.has(name)) continue;
      if (!this.#useExcuse(typeUrl, name)) this.faults.push(`nothing to remove ${typeUrl} ${name}`);
    }
  }
}

type Said = Pick<DeltaResponse, 'typeUrl' | 'resources' | 'removed'>;

function readDelta(bytes: Uint8Array): Said {
  const decoded = decodeDeltaResponse(bytes);
  if (!decoded.ok) throw new Error(decoded.error);
  return decoded.value;
}

class World {
  /** What is shared from a hundred resources on as well as from two: there are four names. */
  readonly rig = new Rig({ shareFrom: 2 });
  readonly toys: readonly Toy[];
  readonly #byStream = new Map<HubStream, Toy>();
  #text = 0;

  constructor(protocols: readonly Protocol[]) {
    this.toys = protocols.map((protocol, at) => new Toy(`n${at + 1}`, protocol));
    this.rig.commit([], {
      audiences: [
        { subject: 'cluster/edge', audiences: ['all'] },
        { subject: 'node/n1', audiences: ['first'] },
      ],
    });
  }

  text(bad: boolean): string {
    this.#text += 1;
    return `${bad ? 'bad' : 'good'} ${this.#text}`;
  }

  send(toy: Toy, requests: readonly Uint8Array[]): void {
    for (const bytes of requests) {
      const error = toy.stream?.receive(bytes, this.rig.now);
      if (error !== undefined) throw new Error(error.words);
    }
  }

  connect(toy: Toy): void {
    if (toy.stream !== undefined) return;
    toy.stream = this.rig.hub.open(toy.id, this.rig.now, { protocol: toy.protocol });
    this.#byStream.set(toy.stream, toy);
    for (const [type, wanted] of toy.wanted) {
      if (wanted.size > 0) this.#asks(toy, type, wanted);
    }
    if (toy.client.resources(endpoint).size > 0 && (toy.wanted.get(cluster)?.size ?? 0) === 0) {
      // Rule 33: it may have been cut off while a cluster warmed, so all is sent again after a second.
      for (const type of [endpoint, secret]) for (const name of names) toy.excuse(type, name);
    }
    this.send(toy, toy.client.connect());
  }

  disconnect(toy: Toy): void {
    if (toy.stream === undefined) return;
    toy.stream.close(this.rig.now);
    this.#byStream.delete(toy.stream);
    toy.stream = undefined;
    toy.inbox.length = 0;
    toy.disconnected();
    toy.excused.clear();
  }

  subscribe(toy: Toy, type: TypeUrl, asked: readonly string[]): void {
    let wanted = toy.wanted.get(type);
    if (wanted === undefined) {
      wanted = new Set();
      toy.wanted.set(type, wanted);
    }
    for (const name of asked) wanted.add(name);
    this.#asks(toy, type, asked);
    this.send(toy, toy.client.subscribe(type, asked));
  }

  unsubscribe(toy: Toy, type: TypeUrl, asked: readonly string[]): void {
    const wanted = toy.wanted.get(type);
    for (const name of asked) wanted?.delete(name);
    this.#asks(toy, type, asked);
    this.send(toy, toy.client.unsubscribe(type, asked));
  }

  #asks(toy: Toy, type: TypeUrl, asked: Iterable<string>): void {
    for (const name of asked) {
      for (const each of name === wildcardName ? [...names, wildcardName] : [name]) toy.excuse(type, each);
    }
  }

  deliver(): void {
    for (;;) {
      const work = this.rig.hub.next(this.rig.now);
      if (work === undefined) return;
      if (work.kind === 'frame') this.#byStream.get(work.stream)?.inbox.push(joinFrame(work.frame));
    }
  }

  pass(ms: number): void {
    this.rig.now += ms;
    this.rig.hub.takeProgress();
    this.rig.hub.tick(this.rig.now);
    for (const event of this.rig.hub.takeProgress()) {
      if (event.kind !== 'stalled' || event.reason !== 'answer') continue;
      // Clusters without an answer are pushed again, and their endpoints with them.
      const toy = this.toys.find(({ id }) => id === event.nodeId);
      for (const type of [cluster, endpoint]) for (const name of event.names) toy?.excuse(type, name);
    }
  }

  /** Lets everything arrive and be answered, deadlines included. */
  settle(): void {
    for (const toy of this.toys) {
      this.connect(toy);
      toy.stream?.setWritable(true);
    }
    for (let round = 0; round < 200; round++) {
      this.deliver();
      const busy = this.toys.filter(({ inbox }) => inbox.length > 0);
      for (const toy of busy) while (toy.inbox.length > 0) this.send(toy, toy.read());
      if (busy.length > 0) continue;
      const deadline = this.rig.hub.nextDeadline();
      if (deadline === undefined) return;
      this.rig.now = Math.max(this.rig.now, deadline);
      this.rig.hub.tick(this.rig.now);
    }
    throw new Error('does not come to rest');
  }

  /** What is wrong with what the clients hold. */
  differences(): string[] {
    return this.toys.flatMap((toy) =>
      types.flatMap((type) => names.flatMap((name) => this.#difference(toy, type, name))),
    );
  }

  #difference(toy: Toy, type: TypeUrl, name: string): string[] {
    const { table } = this.rig.hub;
    const held = toy.client.resources(type).get(name);
    const audiences = table.audiencesOf({ id: toy.id, cluster: 'edge' });
    const resource = table.get(type, name)?.resource;
    const due = resource !== undefined && audiences.has(resource.audience) && toy.wants(type, name);
    const where = `${toy.id} ${type.replace(/^.*\./, '')} ${name}`;
    if (due) {
      const decoded = new TextDecoder().decode(resource.bytes);
      // Of a bad form the client has an older one, or none.
      if (decoded.includes('"bad ')) return held !== undefined && isBad(held) ? [`${where}: holds what is bad`] : [];
      return held?.version === resource.hash ? [] : [`${where}: has ${held?.version}, not ${resource.hash}`];
    }
    const ofCluster = type === endpoint ? table.get(cluster, name)?.resource : undefined;
    if (ofCluster !== undefined && audiences.has(ofCluster.audience) && toy.wanted.get(type)?.has(name)) {
      return contentOf(held)?.text === 'empty' ? [] : [`${where}: is not empty`];
    }
    if (held === undefined) return [];
    if (!toy.wants(type, name)) return [`${where}: holds what it does not want`];
    // Of state-of-the-world, only clusters and listeners can be removed.
    if (toy.protocol === 'sotw' && !fullSets.includes(type)) return [];
    // ECDS is never removed (rule 37), nor is what the client still uses (rule 39).
    if (type === extension) return [];
    if (type === cluster && this.#users(toy).some((content) => content?.needs.includes(name))) return [];
    if (type === endpoint && toy.client.resources(cluster).has(name)) return [];
    return [`${where}: holds what was removed`];
  }

  #users(toy: Toy): (Content | undefined)[] {
    return [route, listener].flatMap((type) => [...toy.client.resources(type).values()].map(contentOf));
  }
}

type Step = (world: World) => void;

const toyIndex = fc.nat({ max: 1 });
const type = fc.constantFrom(...types);
const someNames = fc.uniqueArray(fc.constantFrom(...names), { minLength: 1, maxLength: 3 });
const asked = fc.oneof({ weight: 3, arbitrary: someNames }, { weight: 1, arbitrary: fc.constant([wildcardName]) });

const put = fc.record({
  type,
  name: fc.constantFrom(...names),
  audience: fc.constantFrom('all', 'all', 'first', 'nobody'),
  bad: fc.boolean().map((one) => one),
  needs: fc.uniqueArray(fc.constantFrom(...names), { maxLength: 2 }),
});

/** Commands print as what they are in a counterexample. */
function step(name: string, run: Step): Step & { toString(): string } {
  return Object.assign(run, { toString: () => name });
}

const commit = fc
  .record({
    puts: fc.array(put, { maxLength: 4 }),
    good: fc.nat({ max: 3 }),
    removals: fc.array(fc.record({ type, name: fc.constantFrom(...names) }), { maxLength: 2 }),
  })
  .map(({ puts, good, removals }) =>
    step(`commit ${JSON.stringify({ puts, good, removals })}`, (world) => {
      const made = puts.map((one) => {
        // One in eight is bad.
        const text = world.text(one.bad && good === 0);
        const needs = one.type === route || one.type === listener ? one.needs : [];
        return make(one.type, one.name, one.audience, { text, needs });
      });
      const unique = [...new Map(made.map((one) => [`${one.type} ${one.name}`, one])).values()];
      world.rig.commit(unique, { removals });
    }),
  );

function ofToy(run: (world: World, toy: Toy) => void, name: string) {
  return toyIndex.map((index) =>
    step(`${name} ${index}`, (world) => {
      const toy = world.toys[index];
      if (toy !== undefined) run(world, toy);
    }),
  );
}

const steps = fc.oneof(
  { weight: 4, arbitrary: commit },
  {
    weight: 3,
    arbitrary: fc.tuple(toyIndex, type, asked).map(([index, ofType, list]) =>
      step(`subscribe ${index} ${ofType} ${list}`, (world) => {
        const toy = world.toys[index];
        if (toy !== undefined) world.subscribe(toy, ofType, list);
      }),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(toyIndex, type, asked).map(([index, ofType, list]) =>
      step(`unsubscribe ${index} ${ofType} ${list}`, (world) => {
        const toy = world.toys[index];
        if (toy !== undefined) world.unsubscribe(toy, ofType, list);
      }),
    ),
  },
  { weight: 4, arbitrary: fc.constant(step('deliver', (world) => world.deliver())) },
  { weight: 6, arbitrary: ofToy((world, toy) => world.send(toy, toy.read()), 'read') },
  { weight: 2, arbitrary: ofToy((world, toy) => world.send(toy, toy.readBusy()), 'read busily') },
  { weight: 2, arbitrary: ofToy((world, toy) => world.connect(toy), 'connect') },
  { weight: 1, arbitrary: ofToy((world, toy) => world.disconnect(toy), 'disconnect') },
  { weight: 1, arbitrary: ofToy((_world, toy) => toy.stream?.setWritable(false), 'slow') },
  { weight: 1, arbitrary: ofToy((_world, toy) => toy.stream?.setWritable(true), 'fast') },
  {
    weight: 1,
    arbitrary: fc.nat({ max: 4_000 }).map((ms) =>
      step(`pass ${ms}`, (world) => {
        world.pass(ms);
      }),
    ),
  },
);

const pairs: readonly (readonly Protocol[])[] = [
  ['delta', 'delta'],
  ['sotw', 'sotw'],
  ['delta', 'sotw'],
];

function converging(pair: readonly Protocol[]) {
  return fc.property(fc.array(steps, { maxLength: 60, size: 'max' }), (list) => {
    const world = new World(pair);
    for (const run of list) run(world);
    world.settle();
    expect(world.differences()).toEqual([]);
    expect(world.toys.flatMap(({ faults }) => faults)).toEqual([]);
    // At rest: comparing everything finds nothing to do.
    world.rig.hub.compareAll();
    world.deliver();
    expect(world.toys.map(({ inbox }) => inbox.length)).toEqual([0, 0]);
  });
}

it.each(pairs)(
  'clients of %s and %s converge to what the table says, by messages that each change something',
  (...pair) => {
    // A step is cheap and the space is large: ten times the usual number of cases.
    fc.assert(converging(pair), { numRuns: 10 * (fc.readConfigureGlobal()?.numRuns ?? 100) });
  },
);

/** What failed once, by seed and path of the shrunk case. */
const regressions: readonly (readonly [number, string])[] = [
  [11, '10408:10:10:16:16:15:18:22:23:23:23:26:32:37:36:35:35'],
  [11, '5299:2:1:0:5:11:12:12:12:12:15:15:15:15:18:18:20:23:23:26:25:35:34:36:37:37:39:39:46'],
  [12, '9367:3:0:1:9:15:17:18:18:18:18:18:18:22:27:32:28:30:30:34:41:43:43:43:43:43:49:51:54:58:61:54:50:47:48:47'],
];

it.each(regressions)('seed %d, path %s', (seed, path) => {
  for (const pair of pairs) fc.assert(converging(pair), { seed, path, endOnFailure: true, numRuns: 1 });
});
