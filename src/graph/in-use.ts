import type { BackendPoolSpec, ObjectKey, RouteSpec, Rule, VirtualServiceSpec } from '../model/index.ts';
import { resolveRef } from '../model/index.ts';
import type { Derived, Index, Kernel } from '../view/index.ts';
import { declareTargetAudiences, type Use } from './audiences.ts';
import type { EffectiveRows } from './effective.ts';
import { allFleetsAudience, fleetAudience } from './names.ts';
import { type References, resolveCertificate } from './references.ts';
import type { FleetAudiences, PoolRow, SecretRow } from './rows.ts';
import type { Services } from './services.ts';

export interface InUse {
  readonly pools: Derived<PoolRow>;
  readonly secrets: Derived<SecretRow>;
  readonly fleetAudiences: Derived<FleetAudiences>;
}

/** The pools and certificates that some fleet needs, each with the audience of all fleets that do. */
export function declareInUse(
  kernel: Kernel,
  effective: EffectiveRows,
  services: Services,
  references: References,
): InUse {
  const servicePools = kernel.derive<Use>(
    'pools of services',
    effective.VirtualService,
    (read, key) => {
      const service = read(effective.VirtualService, key);
      const facts = read(services.facts, key);
      if (service === undefined || facts === undefined || !facts.enabled) return undefined;
      return { fleets: [facts.fleet], targets: keysOf(poolsOfService(service.spec), 'BackendPool', service.scope) };
    },
    { same },
  );
  const routePools = kernel.derive<Use>(
    'pools of routes',
    effective.Route,
    (read, key) => {
      const route = read(effective.Route, key);
      if (route === undefined) return undefined;
      const fleets = new Set<string>();
      for (const { virtualService } of route.spec.attachTo) {
        const facts = read(services.facts, resolveRef(virtualService, 'VirtualService', route.scope));
        if (facts?.enabled === true) fleets.add(facts.fleet);
      }
      return { fleets: [...fleets].sort(), targets: keysOf(poolsOfRoute(route.spec), 'BackendPool', route.scope) };
    },
    { same },
  );
  const poolUse = declareTargetAudiences(kernel, 'pools', [servicePools, routePools]);

  const serviceCertificates = kernel.derive<Use>(
    'certificates of services',
    effective.VirtualService,
    (read, key) => {
      const service = read(effective.VirtualService, key);
      const facts = read(services.facts, key);
      if (service === undefined || facts === undefined || !facts.enabled) return undefined;
      const names = service.spec.listeners.flatMap(({ certificates }) => certificates ?? []);
      return { fleets: [facts.fleet], targets: keysOf(names, 'Certificate', service.scope) };
    },
    { same },
  );

  const pools = kernel.derive<PoolRow>('pools in use', poolUse.targets, (read, key) => {
    const pool = read(effective.BackendPool, key);
    const use = read(poolUse.audiences, key);
    if (pool === undefined || use === undefined) return undefined;
    const { tls } = pool.spec;
    const secret = (ref: string | undefined, wanted: 'ca' | 'pair'): string | undefined => {
      if (ref === undefined) return undefined;
      const resolved = resolveCertificate(read, references, ref, pool.scope, '', wanted);
      return 'facts' in resolved ? resolved.facts.secret : undefined;
    };
    const caSecret = secret(tls?.ca, 'ca');
    const clientSecret = secret(tls?.certificate, 'pair');
    return {
      pool: key,
      generation: pool.generation,
      audience: use.audience,
      spec: pool.spec,
      caSecret,
      clientSecret,
      tlsBroken:
        tls !== undefined && (caSecret === undefined || (tls.certificate !== undefined && clientSecret === undefined)),
    };
  });
  const poolCertificates = kernel.derive<Use>(
    'certificates of pools',
    poolUse.targets,
    (read, key) => {
      const pool = read(effective.BackendPool, key);
      const use = read(poolUse.audiences, key);
      if (pool === undefined || use === undefined) return undefined;
      return { fleets: use.fleets, targets: keysOf(certificatesOfPool(pool.spec), 'Certificate', pool.scope) };
    },
    { same },
  );
  const certificateUse = declareTargetAudiences(kernel, 'certificates', [serviceCertificates, poolCertificates]);

  const secrets = kernel.derive<SecretRow>('certificates in use', certificateUse.targets, (read, key) => {
    const certificate = read(effective.Certificate, key);
    const use = read(certificateUse.audiences, key);
    if (certificate === undefined || use === undefined) return undefined;
    return { certificate: key, generation: certificate.generation, audience: use.audience, spec: certificate.spec };
  });

  const fleetAudiences = declareFleetAudiences(kernel, effective, [poolUse.ofFleet, certificateUse.ofFleet]);
  return { pools, secrets, fleetAudiences };
}

function declareFleetAudiences(
  kernel: Kernel,
  effective: EffectiveRows,
  shared: readonly Index[],
): Derived<FleetAudiences> {
  const byName = kernel.index('fleets by name', effective.Fleet, (_fleet, key) => [key.slice('Fleet/'.length)]);
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

function same(a: Use, b: Use): boolean {
  return a.fleets.join() === b.fleets.join() && a.targets.join() === b.targets.join();
}

function keysOf(names: readonly string[], kind: 'BackendPool' | 'Certificate', scope: string): ObjectKey[] {
  return [...new Set(names.map((name) => resolveRef(name, kind, scope)))].sort();
}

function poolsOfRules(rules: readonly Rule[]): string[] {
  return rules.flatMap(({ action }) => (action.forward ?? []).map(({ pool }) => pool));
}

function poolsOfService(spec: VirtualServiceSpec): string[] {
  return spec.listeners.flatMap(({ routes, defaultAction }) => [
    ...(routes ?? []).flatMap(({ rules }) => poolsOfRules(rules)),
    ...(defaultAction?.forward ?? []).map(({ pool }) => pool),
    ...(defaultAction?.pool === undefined ? [] : [defaultAction.pool]),
  ]);
}

function poolsOfRoute(spec: RouteSpec): string[] {
  return poolsOfRules(spec.rules);
}

function certificatesOfPool({ tls }: BackendPoolSpec): string[] {
  if (tls === undefined) return [];
  return tls.certificate === undefined ? [tls.ca] : [tls.ca, tls.certificate];
}
