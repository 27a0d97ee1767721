import { describe, expect, it } from 'vitest';
import type { Fork, Kernel } from '../../../src/view/index.ts';
import { type Pool, type Service, type SmallWorld, smallWorld } from './world.ts';

const serviceOf = (at: number): Service => ({
  created: at,
  hosts: [`h${at}`, `alt${at}`],
  port: 443,
  // The next service's pool too, so that a pool has two users.
  pools: [`p${at}`, `p${at + 1}`],
  fleet: `fleet${at % 10}`,
  bug: false,
});

const poolOf = (at: number): Pool => ({ members: ['m', 'n'], weight: at % 3 });

function populated(count: number): SmallWorld {
  const world = smallWorld();
  commit(world.kernel, (fork) => {
    for (let at = 0; at < count; at += 1) {
      fork.put(world.tables.services, `s${at}`, serviceOf(at));
      fork.put(world.tables.pools, `p${at}`, poolOf(at));
    }
    for (let at = 0; at < 10; at += 1) fork.put(world.tables.placements, `fleet${at}`, at);
  });
  return world;
}

function commit(kernel: Kernel, change: (fork: Fork) => void): ReadonlyMap<string, number> {
  const fork = kernel.fork();
  change(fork);
  fork.settleNow();
  kernel.adopt(fork);
  return fork.computed;
}

/** Law 5: what an edit computes, by its kind, in numbers that do not depend on the size of the world. */
const edits: [string, (fork: Fork, world: SmallWorld) => void, Record<string, number>][] = [
  [
    'one member',
    (fork, { tables }) => fork.put(tables.pools, 'p7', { ...poolOf(7), members: ['m'] }),
    { odd: 1, resolved: 2, endpoints: 1 },
  ],
  [
    'one setting of a pool, seen by the two services that use it',
    (fork, { tables }) => fork.put(tables.pools, 'p7', { ...poolOf(7), weight: 3 }),
    {
      odd: 1,
      resolved: 2,
      endpoints: 1,
      fragment: 2,
      dangling: 2,
      byFleet: 2,
      aggregate: 2,
      gathered: 2,
      joined: 2,
      report: 2,
    },
  ],
  [
    'one host',
    (fork, { tables }) => fork.put(tables.services, 's7', { ...serviceOf(7), hosts: ['h7', 'new'] }),
    {
      claims: 1,
      everything: 1,
      users: 1,
      owner: 1,
      resolved: 1,
      fragment: 1,
      dangling: 1,
      byFleet: 1,
      aggregate: 1,
      gathered: 1,
      joined: 1,
      report: 1,
    },
  ],
  [
    'one reference',
    (fork, { tables }) => fork.put(tables.services, 's7', { ...serviceOf(7), pools: ['p7'] }),
    {
      claims: 1,
      everything: 1,
      users: 1,
      resolved: 1,
      endpoints: 1,
      dangling: 1,
      byFleet: 1,
      fragment: 1,
      aggregate: 1,
      gathered: 1,
      joined: 1,
      report: 1,
    },
  ],
  ['one placement', (fork, { tables }) => fork.put(tables.placements, 'fleet7', 12), { aggregate: 1, report: 1 }],
  [
    'a second claim on a host that is owned',
    (fork, { tables }) =>
      fork.put(tables.attached, 'late', { ...serviceOf(7), created: 1_000_000, hosts: ['h7'], fleet: 'other' }),
    {
      claims: 1,
      everything: 1,
      users: 1,
      owner: 1,
      total: 1,
      resolved: 1,
      endpoints: 2,
      dangling: 1,
      byFleet: 1,
      fragment: 1,
    },
  ],
  [
    'a service gone, its hosts free again',
    (fork, { tables }) => fork.remove(tables.services, 's7'),
    {
      claims: 1,
      everything: 1,
      users: 1,
      total: 1,
      endpoints: 2,
      dangling: 1,
      byFleet: 1,
      aggregate: 1,
      gathered: 1,
      joined: 1,
      report: 1,
    },
  ],
  [
    'a new service in a fleet of its own',
    (fork, { tables }) => fork.put(tables.services, 'new', { ...serviceOf(7), hosts: ['new'], fleet: 'new' }),
    {
      claims: 1,
      everything: 1,
      users: 1,
      owner: 1,
      total: 1,
      resolved: 1,
      endpoints: 2,
      fragment: 1,
      dangling: 1,
      byFleet: 1,
      aggregate: 1,
      gathered: 1,
      joined: 1,
      report: 1,
    },
  ],
  ['nothing that differs', (fork, { tables }) => fork.put(tables.services, 's7', { ...serviceOf(7) }), {}],
];

describe('law 5: what an edit computes does not grow with the world', () => {
  const worlds = [100, 10_000].map((count): [number, SmallWorld] => [count, populated(count)]);

  it.each(edits)('%s', (_, edit, bound) => {
    for (const [count, world] of worlds) {
      const fork = world.kernel.fork();
      edit(fork, world);
      fork.settleNow();
      expect(Object.fromEntries(fork.computed), `of ${count} services`).toEqual(bound);
    }
  });
});
