import { allowsScope, type ObjectKey, type PoolHash, parseObjectKey, resolveRef } from '../model/index.ts';
import type { Derived, Kernel, Read } from '../view/index.ts';
import type { EffectiveRows, ObjectTables } from './effective.ts';
import { pathOf, unavailableCluster } from './names.ts';
import type { HashingPool, Problem, Target, WeightedCluster } from './rows.ts';
import { sameJson } from './same.ts';

/** What those who refer to a pool need to know of it; of most pools unchanged by an edit of their members. */
export interface PoolFacts {
  readonly scope: string;
  readonly cluster: string;
  readonly allowedScopes: readonly string[] | undefined;
  /** What its algorithm chooses a member by, where it hashes: that stands in the rules, so they name its generation. */
  readonly hashing: HashingPool | undefined;
}

export interface CertificateFacts {
  readonly scope: string;
  readonly secret: string;
  readonly allowedScopes: readonly string[] | undefined;
  readonly is: 'ca' | 'pair';
}

export interface References {
  readonly objects: ObjectTables;
  readonly pools: Derived<PoolFacts>;
  readonly certificates: Derived<CertificateFacts>;
}

export function declareReferences(kernel: Kernel, objects: ObjectTables, effective: EffectiveRows): References {
  const pools = kernel.derive<PoolFacts>(
    'pool facts',
    effective.BackendPool,
    (read, key) => {
      const pool = read(effective.BackendPool, key);
      if (pool === undefined) return undefined;
      const { algorithm } = pool.spec;
      const hash = algorithm === 'ringHash' || algorithm === 'maglev' ? pool.spec.hash : undefined;
      return {
        scope: pool.scope,
        cluster: pathOf(key),
        allowedScopes: pool.spec.allowedScopes,
        hashing: hash && { pool: key, generation: pool.generation, hash },
      };
    },
    { same: sameJson },
  );
  const certificates = kernel.derive<CertificateFacts>(
    'certificate facts',
    effective.Certificate,
    (read, key) => {
      const certificate = read(effective.Certificate, key);
      if (certificate === undefined) return undefined;
      return {
        scope: certificate.scope,
        secret: pathOf(key),
        allowedScopes: certificate.spec.allowedScopes,
        is: certificate.spec.ca === undefined ? 'pair' : 'ca',
      };
    },
    { same: sameJson },
  );
  return { objects, pools, certificates };
}

/** A reference that leads somewhere, or why it does not. */
export type Resolved<T> =
  | { readonly key: ObjectKey; readonly facts: T }
  | { readonly key: ObjectKey; readonly problem: Problem };

/** `place` says where the reference stands, for the message: `listener web`. */
export function resolvePool(
  read: Read,
  references: References,
  ref: string,
  scope: string,
  place: string,
): Resolved<PoolFacts> {
  const key = resolveRef(ref, 'BackendPool', scope);
  return judge(read, references, key, read(references.pools, key), scope, place);
}

export function resolveCertificate(
  read: Read,
  references: References,
  ref: string,
  scope: string,
  place: string,
  wanted: 'ca' | 'pair',
): Resolved<CertificateFacts> {
  const key = resolveRef(ref, 'Certificate', scope);
  const resolved = judge(read, references, key, read(references.certificates, key), scope, place);
  if ('problem' in resolved || resolved.facts.is === wanted) return resolved;
  const needs = wanted === 'ca' ? 'a certificate with ca' : 'a certificate with chain and key';
  return {
    key,
    problem: {
      reason: 'ReferenceNotUsable',
      message: `${place} needs ${needs}, and Certificate ${pathOf(key)} is none`,
    },
  };
}

function judge<T extends { scope: string; allowedScopes: readonly string[] | undefined }>(
  read: Read,
  { objects }: References,
  key: ObjectKey,
  facts: T | undefined,
  scope: string,
  place: string,
): Resolved<T> {
  if (facts !== undefined && allowsScope(facts.scope, facts.allowedScopes, scope)) return { key, facts };
  const { kind } = parseObjectKey(key);
  const what = `${kind} ${pathOf(key)}`;
  if (facts === undefined) {
    const withheld = read(objects[kind], key) !== undefined;
    const message = withheld
      ? `${place} names ${what}, which proxies refuse and which has no good form yet: see its conditions`
      : `${place} names ${what}, which does not exist: create it, or name another`;
    return { key, problem: { reason: 'ReferenceMissing', message } };
  }
  const message = `${place} names ${what}, which does not allow scope ${scope}: add it to its allowedScopes`;
  return { key, problem: { reason: 'ReferenceNotAllowed', message } };
}

export const noTarget: Target = { clusters: [], hashes: [], hashing: [] };

/** Resolves the pools of a forward; what does not lead anywhere gets `unavailableCluster`, and a problem. */
export function resolveTarget(
  read: Read,
  references: References,
  forward: readonly { readonly pool: string; readonly weight?: number | undefined }[],
  scope: string,
  place: string,
  problems: Problem[],
): Target {
  const clusters: WeightedCluster[] = [];
  const hashes = new Map<string, PoolHash>();
  const pools = new Map<ObjectKey, HashingPool>();
  for (const { pool, weight = 1 } of forward) {
    const resolved = resolvePool(read, references, pool, scope, place);
    if ('problem' in resolved) {
      problems.push(resolved.problem);
      clusters.push({ cluster: unavailableCluster, weight });
      continue;
    }
    const { cluster, hashing } = resolved.facts;
    clusters.push({ cluster, weight });
    if (hashing === undefined) continue;
    hashes.set(JSON.stringify(hashing.hash), hashing.hash);
    pools.set(hashing.pool, hashing);
  }
  return hashes.size === 0
    ? { clusters, hashes: none, hashing: none }
    : { clusters, hashes: [...hashes.values()], hashing: [...pools.values()] };
}

const none: readonly never[] = [];
