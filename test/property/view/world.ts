import {
  type Collection,
  type Fork,
  type Index,
  Kernel,
  type Read,
  type Table,
  type World,
} from '../../../src/view/index.ts';

/**
 * A world with the shapes of the product's own: names that are claimed and owned, references that may dangle,
 * fragments and the aggregates made of them, a decision that is put in a second round.
 */
export interface Service {
  readonly created: number;
  readonly hosts: readonly string[];
  readonly port: number;
  readonly pools: readonly string[];
  readonly fleet: string;
  /** Makes the resolution throw, and the index of pools too, as a bug would. */
  readonly bug: boolean;
}

export interface Pool {
  readonly members: readonly string[];
  readonly weight: number;
}

interface Resolved {
  readonly won: readonly string[];
  readonly lost: readonly string[];
  readonly missing: readonly string[];
  readonly fleet: string;
  readonly weights: number;
}

const text = new TextEncoder();

function equalBytes(before: Uint8Array, after: Uint8Array): boolean {
  return before.length === after.length && before.every((byte, at) => byte === after[at]);
}

function equalJson(before: unknown, after: unknown): boolean {
  return JSON.stringify(before) === JSON.stringify(after);
}

export type SmallWorld = ReturnType<typeof smallWorld>;

/** `onCompute` hears of every call of a derivation or of an index, with collection and key, of an index with the row. */
export function smallWorld(onCompute: (collection: string, key: string, row?: unknown) => void = () => {}) {
  const kernel = new Kernel();
  const heard = <R>(name: string, compute: (read: Read, key: string) => R) => {
    return (read: Read, key: string): R => {
      onCompute(name, key);
      return compute(read, key);
    };
  };
  const derive = <R>(
    name: string,
    source: Collection | Collection[],
    same: (a: R, b: R) => boolean,
    compute: (read: Read, key: string) => R | undefined,
  ) => kernel.derive<R>(name, source, heard(name, compute), { same });
  const keysOf = <R>(name: string, keys: (row: R) => Iterable<string>) => {
    return (row: R, key: string): Iterable<string> => {
      onCompute(name, key, row);
      return keys(row);
    };
  };

  const services = kernel.table<Service>('services', { same: equalJson });
  const attached = kernel.table<Service>('attached');
  const pools = kernel.table<Pool>('pools');
  const placements = kernel.table<number>('placements');

  const claims = kernel.index(
    'claims',
    [services, attached],
    keysOf('claims', (row: Service) => row.hosts.map((host) => `${host}:${row.port}`)),
  );
  const everything = kernel.index(
    'everything',
    [services, attached],
    keysOf('everything', () => ['*']),
  );
  const users = kernel.index(
    'users',
    [services, attached],
    keysOf('users', (row: Service) => {
      if (row.bug && row.port === 80) throw new Error('bug');
      return row.pools;
    }),
  );

  const serviceOf = (read: Read, key: string): Service | undefined => read(services, key) ?? read(attached, key);
  const owner = derive('owner', claims, Object.is, (read, claim) => {
    const oldest = [...read(claims, claim)].sort(
      (a, b) => (serviceOf(read, a)?.created ?? 0) - (serviceOf(read, b)?.created ?? 0) || (a < b ? -1 : 1),
    );
    return oldest[0];
  });
  const total = derive('total', everything, Object.is, (read, key) => read(everything, key).size);
  /** Nothing for a pool with an even weight: a derivation may have no row. */
  const odd = derive('odd', pools, Object.is, (read, key) =>
    (read(pools, key)?.weight ?? 0) % 2 === 1 ? key : undefined,
  );
  const resolved = derive<Resolved>('resolved', [services, attached], equalJson, (read, key) => {
    const row = serviceOf(read, key) as Service;
    if (row.bug) throw new Error('bug');
    const names = row.hosts.map((host) => `${host}:${row.port}`);
    const found = row.pools.map((pool) => read(pools, pool));
    // The reads of a row depend on what it found: edges come and go.
    const weights = found.some((pool) => pool === undefined)
      ? 0
      : found.reduce((sum, pool) => sum + (pool?.weight ?? 0), 0);
    return {
      won: names.filter((name) => read(owner, name) === key),
      lost: names.filter((name) => read(owner, name) !== key),
      missing: row.pools.filter((_, at) => found[at] === undefined),
      fleet: row.fleet,
      weights: weights > 4 ? weights + (read(total, '*') ?? 0) : weights,
    };
  });
  const dangling = kernel.index(
    'dangling',
    resolved,
    keysOf('dangling', (row: Resolved) => row.missing),
  );
  const endpoints = derive('endpoints', pools, equalBytes, (read, key) => {
    if (read(users, key).size === 0) return undefined;
    return text.encode(`${key}=${read(pools, key)?.members.join(',')}`);
  });
  const byFleet = kernel.index(
    'byFleet',
    resolved,
    keysOf('byFleet', (row: Resolved) => (row.won.length === 0 ? [] : [row.fleet])),
  );
  const fragment = derive('fragment', resolved, equalBytes, (read, key) => {
    const row = read(resolved, key) as Resolved;
    return row.won.length === 0 ? undefined : text.encode(`${key}[${row.won.join(' ')}]${row.weights};`);
  });
  const aggregate = derive('aggregate', byFleet, equalBytes, (read, key) => {
    const parts = [...read(byFleet, key)].sort().flatMap((member) => [...(read(fragment, member) ?? [])]);
    return Uint8Array.from([...text.encode(`${read(placements, key) ?? 'nowhere'}:`), ...parts]);
  });
  const gathered = kernel.gather('gathered', byFleet, fragment);
  const joined = derive('joined', gathered, Object.is, (read, key) => read(gathered, key)?.keys.join(' '));
  const report = derive('report', [aggregate, odd], Object.is, (read, key) => {
    const bytes = read(aggregate, key);
    return bytes === undefined
      ? `odd ${read(odd, key)}`
      : `${key} has ${bytes.length} bytes, misses ${read(dangling, 'p0').size}`;
  });

  const tables = { services, attached, pools, placements };
  const rows = { ...tables, owner, total, odd, resolved, endpoints, fragment, aggregate, gathered, joined, report };
  const indexes = { claims, everything, users, dangling, byFleet };
  return { kernel, tables, rows, indexes };
}

/** The second round of a change: what a planner does, purely from what the fork holds. */
export function plan(fork: Fork, { tables, indexes }: SmallWorld): void {
  const fleets = [...fork.keys(indexes.byFleet)];
  for (const fleet of fleets) fork.put(tables.placements, fleet, fork.members(indexes.byFleet, fleet).size % 3);
  for (const placed of [...fork.keys(tables.placements)])
    if (!fleets.includes(placed)) fork.remove(tables.placements, placed);
}

/** All that a world holds, keys in order, sets as sorted lists. */
export function contents(world: World, { rows, indexes }: SmallWorld): Record<string, Record<string, unknown>> {
  const found: Record<string, Record<string, unknown>> = {};
  for (const [name, collection] of Object.entries(rows)) {
    const table = collection as Table<unknown>;
    found[name] = Object.fromEntries([...world.keys(table)].sort().map((key) => [key, world.get(table, key)]));
  }
  for (const [name, index] of Object.entries(indexes)) found[name] = membersOf(world, index);
  found['failures'] = Object.fromEntries(
    world
      .failures()
      .map(({ collection, key }) => [`${collection}/${key}`, true])
      .sort(),
  );
  return found;
}

function membersOf(world: World, index: Index): Record<string, string[]> {
  return Object.fromEntries([...world.keys(index)].sort().map((key) => [key, [...world.members(index, key)].sort()]));
}
