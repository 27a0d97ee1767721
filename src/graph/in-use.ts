import { type ObjectKey, objectKey } from '../model/index.ts';
import type { Derived, Index, Kernel, Read } from '../view/index.ts';
import { declareTargetAudiences, type Use } from './audiences.ts';
import type { EffectiveRows } from './effective.ts';
import { chainsOfService, type Listeners } from './listeners.ts';
import { allFleetsAudience, fleetAudience, pathOf, unavailableCluster } from './names.ts';
import { type References, resolveCertificate } from './references.ts';
import type { Effective, FleetAudiences, PoolRow, RuleSet, SecretRow, Target } from './rows.ts';
import { defaultActionKey, type RuleSets } from './rule-sets.ts';
import type { Services } from './services.ts';

export interface InUse {
  readonly pools: Derived<PoolRow>;
  readonly secrets: Derived<SecretRow>;
  readonly fleetAudiences: Derived<FleetAudiences>;
}

export interface InUseParts {
  readonly effective: EffectiveRows;
  readonly services: Services;
  readonly references: References;
  readonly rules: RuleSets;
  readonly listeners: Listeners;
}

/**
 * The pools and certificates that some fleet needs, each with the audience of all fleets that do. Only what is
 * referred to from something that is served, by a reference that works: naming the pool of another tenant must not
 * send its certificates to one's own proxies.
 */
export function declareInUse(kernel: Kernel, parts: InUseParts): InUse {
  const { effective, services, references, rules, listeners } = parts;
  const { facts, serving } = services;

  const servicePools = kernel.derive<Use>(
    'pools of services',
    serving,
    (read, service) => {
      const served = read(serving, service);
      if (served === undefined) return undefined;
      const targets: Target[] = [];
      for (const key of read(rules.ruleSetsOf, service)) {
        const set = read(rules.ruleSets, key);
        if (set !== undefined && fleetsOf(read, set).length > 0) targets.push(...targetsOf(set));
      }
      for (const chain of chainsOfService(read, { facts, listeners: listeners.listeners }, service)) {
        if (chain.kind === 'tcp') targets.push(chain.target);
        else for (const { name } of chain.listeners) targets.push(...defaultTarget(read, service, name));
      }
      return { fleets: [served.fleet], targets: poolsOf(targets) };
    },
    { same },
  );
  const routePools = kernel.derive<Use>(
    'pools of routes',
    effective.Route,
    (read, route) => {
      const set = read(rules.ruleSets, route);
      const fleets = set === undefined ? [] : fleetsOf(read, set);
      return set === undefined || fleets.length === 0 ? undefined : { fleets, targets: poolsOf(targetsOf(set)) };
    },
    { same },
  );

  /** The fleets whose proxies have a table that the set stands in. */
  function fleetsOf(read: Read, { attachments }: RuleSet): string[] {
    return [...new Set(attachments.flatMap(({ table }) => read(listeners.servedTables, table)?.fleet ?? []))].sort();
  }

  function defaultTarget(read: Read, service: ObjectKey, listener: string): Target[] {
    const row = read(rules.defaultActions, defaultActionKey(service, listener));
    return row === undefined ? [] : [row.target];
  }

  const poolUse = declareTargetAudiences(kernel, 'pools', [servicePools, routePools]);

  const pools = kernel.derive<PoolRow>(
    'pools in use',
    poolUse.targets,
    (read, key) => {
      const pool = read(effective.BackendPool, key);
      const use = read(poolUse.audiences, key);
      if (pool === undefined || use === undefined) return undefined;
      return { pool: key, generation: pool.generation, audience: use.audience, spec: pool.spec, ...tlsOf(read, pool) };
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

  const serviceCertificates = kernel.derive<Use>(
    'certificates of services',
    serving,
    (read, service) => {
      const served = read(serving, service);
      if (served === undefined) return undefined;
      const chains = chainsOfService(read, { facts, listeners: listeners.listeners }, service);
      const secrets = chains.flatMap((chain) => (chain.kind === 'http' ? (chain.tls?.secrets ?? []) : []));
      return secrets.length === 0 ? undefined : { fleets: [served.fleet], targets: certificatesOf(secrets) };
    },
    { same },
  );
  const poolCertificates = kernel.derive<Use>(
    'certificates of pools',
    pools,
    (read, key) => {
      const pool = read(pools, key);
      const use = read(poolUse.audiences, key);
      // Without one of them the cluster is empty, and asks for none.
      if (pool?.caSecret === undefined || pool.tlsBroken || use === undefined) return undefined;
      const { caSecret, clientSecret } = pool;
      return { fleets: use.fleets, targets: certificatesOf([caSecret, ...(clientSecret ? [clientSecret] : [])]) };
    },
    { same },
  );
  const certificateUse = declareTargetAudiences(kernel, 'certificates', [serviceCertificates, poolCertificates]);

  const secrets = kernel.derive<SecretRow>(
    'certificates in use',
    certificateUse.targets,
    (read, key) => {
      const certificate = read(effective.Certificate, key);
      const use = read(certificateUse.audiences, key);
      if (certificate === undefined || use === undefined) return undefined;
      const { generation, spec } = certificate;
      return { certificate: key, generation, audience: use.audience, spec };
    },
    { same: (a, b) => a.spec === b.spec && a.generation === b.generation && a.audience === b.audience },
  );

  const fleetAudiences = declareFleetAudiences(kernel, services, [poolUse.ofFleet, certificateUse.ofFleet]);
  return { pools, secrets, fleetAudiences };
}

function declareFleetAudiences(
  kernel: Kernel,
  { fleets }: Services,
  shared: readonly Index[],
): Derived<FleetAudiences> {
  const byName = kernel.index('fleets by name', fleets, (_exists, key) => [pathOf(key)]);
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

function targetsOf({ rules }: RuleSet): Target[] {
  return rules.map(({ target }) => target);
}

/** Keys of the pools that targets lead to, sorted. */
function poolsOf(targets: readonly Target[]): ObjectKey[] {
  const paths = new Set(targets.flatMap(({ clusters }) => clusters.map(({ cluster }) => cluster)));
  paths.delete(unavailableCluster);
  return [...paths].sort().map((path) => keyOf('BackendPool', path));
}

/** Keys of the certificates behind names of secrets, sorted. */
function certificatesOf(secrets: readonly string[]): ObjectKey[] {
  return [...new Set(secrets)].sort().map((path) => keyOf('Certificate', path));
}

/** Clusters and secrets are called by the path of their object. */
function keyOf(kind: 'BackendPool' | 'Certificate', path: string): ObjectKey {
  const [scope, name = ''] = path.split('/');
  return objectKey(kind, scope, name);
}

function same(a: Use, b: Use): boolean {
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
    a.tlsBroken === b.tlsBroken
  );
}
