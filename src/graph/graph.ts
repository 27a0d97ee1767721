import { type FairwayObject, type Kind, referencesOf } from '../model/index.ts';
import type { Derived, Index, Kernel, Rows, Table } from '../view/index.ts';
import { declareVerdicts } from './conditions.ts';
import { declareEffective } from './effective.ts';
import { declareInUse } from './in-use.ts';
import { declareListeners } from './listeners.ts';
import { declareReferences } from './references.ts';
import type {
  DefaultActionRow,
  Effective,
  FleetAudiences,
  ListenerRow,
  Pin,
  PolicyRow,
  PoolRow,
  RouteTableRow,
  RuleSet,
  SecretRow,
  ServiceFacts,
  SocketOwner,
  Verdicts,
  VirtualHostRow,
} from './rows.ts';
import { declareRuleSets } from './rule-sets.ts';
import { declareServices } from './services.ts';
import { declareVirtualHosts } from './virtual-hosts.ts';

/** The collections of the graph that other rooms put into or read from. */
export interface Graph {
  /** Inputs: the objects as stored, by kind, under their {@link ObjectKey}. */
  readonly objects: { readonly [K in Kind]: Table<FairwayObject> };
  /** Input: refused generations, under the {@link ObjectKey}. */
  readonly pins: Table<Pin>;

  /** What of an object is in force, by kind. */
  readonly effective: { readonly [K in Kind]: Derived<Effective<K>> };
  /** Object key → keys of the objects that name it, as stored. */
  readonly referrers: Index;
  /** Scope name → keys of the objects in it. */
  readonly inScope: Index;

  /** By service key. */
  readonly services: Derived<ServiceFacts>;
  /** By `fleet|port|address`. */
  readonly socketOwners: Derived<SocketOwner>;
  /** By `socketKey`. */
  readonly listeners: Derived<ListenerRow>;
  /** By `tableKey`. */
  readonly routeTables: Derived<RouteTableRow>;
  /** By `hostKey`. */
  readonly virtualHosts: Derived<VirtualHostRow>;
  /** Table key → keys of its virtual hosts. */
  readonly virtualHostsOf: Index;
  /** By `RuleSet.key`. */
  readonly ruleSets: Derived<RuleSet>;
  /** By service key and name of the listener, joined by `|`. */
  readonly defaultActions: Derived<DefaultActionRow>;
  /** By service key. */
  readonly policies: Derived<PolicyRow>;
  /** By pool key. */
  readonly pools: Derived<PoolRow>;
  /** By certificate key. */
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
  const stored: readonly Rows<FairwayObject>[] = Object.values(objects);
  const referrers = kernel.index('referrers', stored, (object) => referencesOf(object).map(({ key }) => key));
  const inScope = kernel.index('objects of scopes', stored, ({ metadata }) => metadata.scope ?? []);
  const services = declareServices(kernel, effective);
  const references = declareReferences(kernel, objects, effective);
  const rules = declareRuleSets(kernel, effective, services, references);
  const hosts = declareVirtualHosts(kernel, rules.ruleSets);
  const listeners = declareListeners(kernel, effective, services, references);
  const inUse = declareInUse(kernel, { effective, services, references, rules, listeners });
  const verdicts = declareVerdicts(kernel, { objects, effective, services, references, rules, hosts });
  return {
    objects,
    pins,
    effective,
    referrers,
    inScope,
    services: services.facts,
    socketOwners: services.socketOwners,
    listeners: listeners.listeners,
    routeTables: listeners.routeTables,
    policies: listeners.policies,
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
