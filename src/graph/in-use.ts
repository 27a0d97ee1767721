import { type BackendPoolSpec, isServing, memberKey, objectKey } from '../model/index.ts';
import type { Derived, Index, Kernel, Read, Table } from '../view/index.ts';
import { audienceOf, declareAudiencesOf, declareFleetsOf, type Use } from './audiences.ts';
import type { EffectiveRows } from './effective.ts';
import { allFleetsAudience, fleetAudience, fleetsOfAudience, pathOf } from './names.ts';
import { type References, resolveCertificate } from './references.ts';
import type { Drain, Effective, FleetAudiences, PoolRow, RuleSet, SecretRow, ServedRow } from './rows.ts';
import { clustersOf } from './served.ts';

export interface InUse {
  /** By the name of the cluster. */
  readonly pools: Derived<PoolRow>;
  /** By the name of the secret. */
  readonly secrets: Derived<SecretRow>;
  readonly fleetAudiences: Derived<FleetAudiences>;
}

export interface InUseParts {
  readonly effective: EffectiveRows;
  readonly drains: Table<Drain>;
  readonly references: References;
  readonly ruleSets: Derived<RuleSet>;
  readonly served: Derived<ServedRow>;
}

/**
 * The pools and certificates that some fleet needs, each with the audience of all fleets that do. Only what is
 * referred to from something that is served, by a reference that works: naming the pool of another tenant must not
 * send its certificates to one's own proxies.
 */
export function declareInUse(kernel: Kernel, { effective, drains, references, ruleSets, served }: InUseParts): InUse {
  const routePools = kernel.derive<Use>(
    'pools of routes',
    ruleSets,
    (read, key) => {
      const set = read(ruleSets, key);
      // What inline rules lead to stands in the row of their service.
      if (set === undefined || set.key !== set.unit) return undefined;
      const fleets = fleetsOf(read, set);
      return fleets.length === 0 ? undefined : { fleets, targets: clustersOf(set.rules.map(({ target }) => target)) };
    },
    { same: sameUse },
  );

  /** The fleets whose proxies have a table that the set stands in. */
  function fleetsOf(read: Read, { attachments }: RuleSet): string[] {
    const fleets = new Set<string>();
    for (const { service, table } of attachments) {
      const row = read(served, service);
      if (row?.tables.includes(table)) fleets.add(row.fleet);
    }
    return [...fleets].sort();
  }

  const fleetsOfPools = declareFleetsOf(kernel, 'pools', [served, routePools], (row: ServedRow | Use) =>
    'service' in row ? { fleets: [row.fleet], targets: row.pools } : row,
  );
  // A source of the pools, so that those that nobody leaves keep nothing of it.
  const draining = kernel.index('pools that drain', drains, (_drain, key) => [pathOf(key)]);
  const pools = kernel.derive<PoolRow>(
    'pools in use',
    [fleetsOfPools, draining],
    (read, cluster) => {
      if (read(fleetsOfPools, cluster).size === 0) return undefined;
      const pool = read(effective.BackendPool, keyOf('BackendPool', cluster));
      if (pool === undefined) return undefined;
      const { key, generation, spec } = pool;
      const audience = audienceOf(read, fleetsOfPools, cluster);
      const leaving = read(draining, cluster).size === 0 ? nobody : leavingOf(spec, read(drains, key));
      const { caSecret, clientSecret, tlsBroken } = tlsOf(read, pool);
      return { pool: key, generation, audience, spec, leaving, caSecret, clientSecret, tlsBroken };
    },
    { same: samePool },
  );

  function tlsOf(read: Read, { spec: { tls }, scope }: Effective<'BackendPool'>) {
    const secretOf = (ref: string | undefined, wanted: 'ca' | 'pair'): string | undefined => {
      if (ref === undefined) return undefined;
      const resolved = resolveCertificate(read, references, ref, scope, '', wanted);
      return 'facts' in resolved ? resolved.facts.secret : undefined;
    };
    const caSecret = secretOf(tls?.ca, 'ca');
    const clientSecret = secretOf(tls?.certificate, 'pair');
    const isClientMissing = tls?.certificate !== undefined && clientSecret === undefined;
    return { caSecret, clientSecret, tlsBroken: tls !== undefined && (caSecret === undefined || isClientMissing) };
  }

  const poolSecrets = kernel.derive<Use>(
    'certificates of pools',
    pools,
    (read, cluster) => {
      const pool = read(pools, cluster);
      // Without one of them the cluster is empty, and asks for none.
      if (pool?.caSecret === undefined || pool.tlsBroken) return undefined;
      const { audience, caSecret, clientSecret = caSecret } = pool;
      return { fleets: fleetsOfAudience(audience), targets: [...new Set([caSecret, clientSecret])].sort() };
    },
    { same: sameUse },
  );
  const fleetsOfSecrets = declareFleetsOf(kernel, 'certificates', [served, poolSecrets], (row: ServedRow | Use) =>
    'service' in row ? { fleets: [row.fleet], targets: row.secrets } : row,
  );
  const secrets = kernel.derive<SecretRow>(
    'certificates in use',
    fleetsOfSecrets,
    (read, secret) => {
      const certificate = read(effective.Certificate, keyOf('Certificate', secret));
      if (certificate === undefined) return undefined;
      const { key, generation, spec } = certificate;
      return { certificate: key, generation, audience: audienceOf(read, fleetsOfSecrets, secret), spec };
    },
    { same: (a, b) => a.spec === b.spec && a.generation === b.generation && a.audience === b.audience },
  );

  const shared = [declareAudiencesOf(kernel, 'pools', pools), declareAudiencesOf(kernel, 'certificates', secrets)];
  return { pools, secrets, fleetAudiences: declareFleetAudiences(kernel, effective, shared) };
}

function declareFleetAudiences(
  kernel: Kernel,
  { Fleet: fleets }: EffectiveRows,
  shared: readonly Index[],
): Derived<FleetAudiences> {
  const byName = kernel.index('fleets by name', fleets, (_row, key) => [pathOf(key)]);
  return kernel.derive<FleetAudiences>(
    'audiences of fleets',
    byName,
    (read, fleet) => {
      const audiences = new Set([fleetAudience(fleet), allFleetsAudience]);
      for (const index of shared) for (const audience of read(index, fleet)) audiences.add(audience);
      return { fleet, audiences: [...audiences].sort() };
    },
    { same: (a, b) => a.audiences.join(' ') === b.audiences.join(' ') },
  );
}

/** Clusters and secrets are called by the path of their object. */
function keyOf(kind: 'BackendPool' | 'Certificate', path: string): string {
  return objectKey(kind, ...(path.split('/') as [string, string]));
}

function sameUse(a: Use, b: Use): boolean {
  return a.fleets.join() === b.fleets.join() && a.targets.join() === b.targets.join();
}

/** The spec is compared by identity: it stays the same value as long as its object does. */
function samePool(a: PoolRow, b: PoolRow): boolean {
  return (
    a.spec === b.spec &&
    a.generation === b.generation &&
    a.audience === b.audience &&
    a.caSecret === b.caSecret &&
    a.clientSecret === b.clientSecret &&
    a.tlsBroken === b.tlsBroken &&
    sameLeaving(a.leaving, b.leaving)
  );
}

type Leaving = PoolRow['leaving'];

const nobody: Leaving = [];

/** The draining members that the spec in force does not have among its own: it may be an older one than they left. */
function leavingOf(spec: BackendPoolSpec, drain: Drain | undefined): Leaving {
  if (drain === undefined) return nobody;
  const present = new Set((spec.members ?? []).filter(isServing).map(memberKey));
  return drain.members
    .map((member) => ({ member, key: memberKey(member) }))
    .filter(({ key }) => !present.has(key))
    .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
    .map(({ member: { address, port } }) => ({ address, port }));
}

function sameLeaving(a: Leaving, b: Leaving): boolean {
  return (
    a.length === b.length && a.every(({ address, port }, at) => address === b[at]?.address && port === b[at]?.port)
  );
}
