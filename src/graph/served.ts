import type { Derived, Kernel, Read } from '../view/index.ts';
import type { EffectiveRows } from './effective.ts';
import { chainsOfService } from './listeners.ts';
import { fleetAudience, unavailableCluster } from './names.ts';
import type { ListenerRow, ServedRow, ServiceFacts, Target } from './rows.ts';
import { inlineKeysOf, type RuleSets } from './rule-sets.ts';
import { sameJson } from './same.ts';

interface Parts {
  readonly effective: EffectiveRows;
  readonly facts: Derived<ServiceFacts>;
  readonly rules: RuleSets;
  readonly listeners: Derived<ListenerRow>;
}

/** What proxies have of each service, by its key; absent where they have nothing of it. */
export function declareServed(kernel: Kernel, { effective, facts, rules, listeners }: Parts): Derived<ServedRow> {
  return kernel.derive<ServedRow>(
    'services served',
    facts,
    (read, service) => {
      const own = read(facts, service);
      const chains = own === undefined ? [] : chainsOfService(read, listeners, own);
      if (own === undefined || chains.length === 0) return undefined;
      const tables = new Set<string>();
      const secrets = new Set<string>();
      const names = new Set<string>();
      const targets: Target[] = [];
      for (const chain of chains) {
        if (chain.kind === 'tcp') {
          targets.push(chain.target);
          continue;
        }
        tables.add(chain.table);
        for (const secret of chain.tls?.secrets ?? []) secrets.add(secret);
        for (const { name } of chain.listeners) names.add(name);
      }
      targets.push(...targetsOfRules(read, service, tables, names));
      return {
        service,
        fleet: own.fleet,
        audience: fleetAudience(own.fleet),
        tables: [...tables],
        http: tables.size > 0,
        tcp: chains.some(({ kind }) => kind === 'tcp'),
        secrets: [...secrets].sort(),
        pools: clustersOf(targets),
      };
    },
    { same: sameJson },
  );

  /** What the inline rules and default actions of the listeners lead to. */
  function targetsOfRules(
    read: Read,
    service: string,
    tables: ReadonlySet<string>,
    names: ReadonlySet<string>,
  ): Target[] {
    const row = read(effective.VirtualService, service);
    const sets = row === undefined ? [] : inlineKeysOf(row).flatMap((key) => read(rules.ruleSets, key) ?? []);
    const defaults = read(rules.defaultActions, service)?.listeners ?? [];
    return [
      ...sets
        .filter(({ attachments }) => attachments.some(({ table }) => tables.has(table)))
        .flatMap((set) => set.rules.map(({ target }) => target)),
      ...defaults.filter(({ name }) => names.has(name)).map(({ target }) => target),
    ];
  }
}

/** Names of the clusters that targets lead to, each once and sorted; without the stand-in, which every proxy has. */
export function clustersOf(targets: readonly Target[]): string[] {
  const clusters = new Set(targets.flatMap((target) => target.clusters.map(({ cluster }) => cluster)));
  clusters.delete(unavailableCluster);
  return [...clusters].sort();
}
