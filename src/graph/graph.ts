import { type FairwayObject, type Kind, referencesOf } from '../model/index.ts';
import type { Derived, Index, Kernel, Rows, Table } from '../view/index.ts';
import { declareVerdicts } from './conditions.ts';
import { declareEffective } from './effective.ts';
import { declareInUse } from './in-use.ts';
import { declareListeners } from './listeners.ts';
import { declareReferences } from './references.ts';
import type {
  DefaultActionsRow,
  Drain,
  Effective,
  FleetAudiences,
  ListenerRow,
  Pin,
  PoolRow,
  RuleSet,
  SecretRow,
  ServedRow,
  ServiceFacts,
  SocketOwner,
  Verdicts,
  VirtualHostRow,
} from './rows.ts';
import { declareRuleSets } from './rule-sets.ts';
import { declareServed } from './served.ts';
import { declareServices } from './services.ts';
import { declareVirtualHosts } from './virtual-hosts.ts';

/** The collections of the graph that other rooms put into or read from. */
export interface Graph {
  /** Inputs: the objects as stored, by kind, under their {@link ObjectKey}. */
  readonly objects: { readonly [K in Kind]: Table<FairwayObject> };
  /** Input: refused generations, under the {@link ObjectKey}. */
  readonly pins: Table<Pin>;
  /** Input: members that left a pool, under the pool's {@link ObjectKey}. */
  readonly drains: Table<Drain>;

  /** What of an object is in force, by kind. */
  readonly effective: { readonly [K in Kind]: Derived<Effective<K>> };
  /** Object key → keys of the objects that name it, as stored. */
  readonly referrers: Index;
  /** Scope name → keys of the objects in it. */
  readonly inScope: Index;

  /** By service key. */
  readonly services: Derived<ServiceFacts>;
  /** By `fleet|port|address`, only where claims are in each other's way: elsewhere the only claimant has it. */
  readonly socketOwners: Derived<SocketOwner>;
  /** By `socketKey`. */
  readonly listeners: Derived<ListenerRow>;
  /** By service key. */
  readonly served: Derived<ServedRow>;
  /** By `hostKey`. */
  readonly virtualHosts: Derived<VirtualHostRow>;
  /** Table key → keys of its virtual hosts. */
  readonly virtualHostsOf: Index;
  /** By `RuleSet.key`. */
  readonly ruleSets: Derived<RuleSet>;
  /** By service key. */
  readonly defaultActions: Derived<DefaultActionsRow>;
  /** By the name of the cluster. */
  readonly pools: Derived<PoolRow>;
  /** By the name of the secret. */
  readonly secrets: Derived<SecretRow>;
  /** By fleet name. Every proxy of a fleet also has the audience `allFleets`. */
  readonly fleetAudiences: Derived<FleetAudiences>;
  /** One key, `*`, while there is any fleet. */
  readonly allFleets: Index;
  /** By object key. */
  readonly verdicts: Derived<Verdicts>;
}

/** Declares the whole graph on a kernel. Once per kernel, before its first fork. */
export function declareGraph(kernel: Kernel): Graph {
  const { objects, pins, effective } = declareEffective(kernel);
  const drains = kernel.table<Drain>('drains');
  const stored: readonly Rows<FairwayObject>[] = Object.values(objects);
  const referrers = kernel.index('referrers', stored, (object) => referencesOf(object).map(({ key }) => key));
  const inScope = kernel.index('objects of scopes', stored, ({ metadata }) => metadata.scope ?? []);
  const services = declareServices(kernel, effective);
  const references = declareReferences(kernel, objects, effective);
  const rules = declareRuleSets(kernel, effective, services, references);
  const hosts = declareVirtualHosts(kernel, services.facts, rules.ruleSets);
  const listeners = declareListeners(kernel, effective, services, references);
  const served = declareServed(kernel, { effective, facts: services.facts, rules, listeners });
  const inUse = declareInUse(kernel, { effective, drains, references, ruleSets: rules.ruleSets, served });
  const verdicts = declareVerdicts(kernel, {
    objects,
    effective,
    services,
    listeners,
    references,
    rules,
    hosts,
  });
  return {
    objects,
    pins,
    drains,
    effective,
    referrers,
    inScope,
    services: services.facts,
    socketOwners: services.socketOwners,
    listeners,
    served,
    virtualHosts: hosts.virtualHosts,
    virtualHostsOf: hosts.virtualHostsOf,
    ruleSets: rules.ruleSets,
    defaultActions: rules.defaultActions,
    pools: inUse.pools,
    secrets: inUse.secrets,
    fleetAudiences: inUse.fleetAudiences,
    allFleets: services.allFleets,
    verdicts,
  };
}
