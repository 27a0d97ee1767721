import type { Forward, ObjectKey, Rule } from '../model/index.ts';
import type { Derived, Index, Kernel, Read } from '../view/index.ts';
import { attachmentsOf } from './attachments.ts';
import type { EffectiveRows } from './effective.ts';
import { intersect, lowerCase } from './hosts.ts';
import { splitKey } from './names.ts';
import { noTarget, type References, resolveTarget } from './references.ts';
import type { DefaultActionRow, Effective, Problem, ResolvedRule, RuleSet, Target } from './rows.ts';
import { sameJson } from './same.ts';
import type { Services } from './services.ts';

export interface RuleSets {
  /** By `RuleSet.key`. */
  readonly ruleSets: Derived<RuleSet>;
  /** Object → keys of its rule sets. */
  readonly ruleSetsOf: Index;
  /** By `defaultActionKey`. */
  readonly defaultActions: Derived<DefaultActionRow>;
}

/** Last part of the key of the set that makes a listener's own hosts be served. */
const defaultSet = 'default';

/** Key of the rule set of an inline entry: `service|listener|entry`; of a Route it is the Route's own key. */
function inlineKey(service: ObjectKey, listener: string, entry: number | typeof defaultSet): string {
  return `${service}|${listener}|${entry}`;
}

export function defaultActionKey(service: ObjectKey, listener: string): string {
  return `${service}|${listener}`;
}

/** Rules with their pools, and where they are attached. */
export function declareRuleSets(
  kernel: Kernel,
  effective: EffectiveRows,
  services: Services,
  references: References,
): RuleSets {
  const { objects } = references;
  const inlineKeys = kernel.index(
    'inline rule sets',
    effective.VirtualService,
    (service: Effective<'VirtualService'>) =>
      service.spec.listeners.flatMap((listener) => {
        if (listener.protocol === 'TCP') return [];
        const entries = (listener.routes ?? []).map((_, entry) => inlineKey(service.key, listener.name, entry));
        return [...entries, inlineKey(service.key, listener.name, defaultSet)];
      }),
  );

  const ruleSets = kernel.derive<RuleSet>(
    'rule sets',
    [inlineKeys, effective.Route],
    (read, key) => {
      const [unit = '', listener, entry] = splitKey(key);
      return listener === undefined || entry === undefined
        ? attachedSet(read, unit)
        : inlineSet(read, key, unit, listener, entry);
    },
    { same: sameSet },
  );

  function inlineSet(read: Read, key: string, unit: ObjectKey, name: string, entry: string): RuleSet | undefined {
    const service = read(effective.VirtualService, unit);
    const facts = read(services.facts, unit);
    const listener = service?.spec.listeners.find((candidate) => candidate.name === name);
    const listenerFacts = facts?.listeners.find((candidate) => candidate.name === name);
    if (service === undefined || facts === undefined || listener === undefined || listenerFacts?.table === undefined)
      return undefined;
    const isDefault = entry === defaultSet;
    const route = isDefault ? undefined : listener.routes?.[Number(entry)];
    const hosts = intersect(listenerFacts.hosts, lowerCase(route?.hosts));
    const isOutside = hosts.length === 0;
    const place = `listener ${name}`;
    const attachment = { service: unit, listener: name, table: listenerFacts.table, hosts };
    const outside = { reason: 'HostConflict', message: `${place} serves none of the hosts of its route ${entry}` };
    return {
      ...setOf(read, key, service, route?.rules ?? [], place),
      isDefault,
      attachments: !facts.enabled || isOutside ? [] : [attachment],
      detached: isOutside ? [{ service: unit, listener: name, ...outside }] : [],
    };
  }

  function attachedSet(read: Read, unit: ObjectKey): RuleSet | undefined {
    const route = read(effective.Route, unit);
    if (route === undefined) return undefined;
    return {
      ...setOf(read, unit, route, route.spec.rules, undefined),
      isDefault: false,
      ...attachmentsOf(read, { objects, services }, route),
    };
  }

  /** What the two sorts of sets have in common. */
  function setOf(
    read: Read,
    key: string,
    { key: unit, generation, age, scope }: Effective,
    rules: readonly Rule[],
    place: string | undefined,
  ): Omit<RuleSet, 'isDefault' | 'attachments' | 'detached'> {
    const problems: Problem[] = [];
    const resolved = rules.map((rule): ResolvedRule => {
      const where = place === undefined ? `rule ${rule.name}` : `rule ${rule.name} of ${place}`;
      return { rule, target: targetOf(read, rule.action.forward, scope, where, problems) };
    });
    return { key, unit, generation, age, scope, rules: resolved, problems };
  }

  function targetOf(
    read: Read,
    forward: readonly Forward[] | undefined,
    scope: string,
    place: string,
    problems: Problem[],
  ): Target {
    return forward === undefined ? noTarget : resolveTarget(read, references, forward, scope, place, problems);
  }

  const ruleSetsOf = kernel.index('rule sets of objects', ruleSets, (row: RuleSet) => [row.unit]);

  const defaultActionKeys = kernel.index(
    'default actions by listener',
    effective.VirtualService,
    (service: Effective<'VirtualService'>) =>
      service.spec.listeners
        .filter(({ protocol }) => protocol !== 'TCP')
        .map(({ name }) => defaultActionKey(service.key, name)),
  );
  const defaultActions = kernel.derive<DefaultActionRow>(
    'default actions',
    defaultActionKeys,
    (read, key) => {
      const [unit = '', name = ''] = splitKey(key);
      const service = read(effective.VirtualService, unit);
      const listener = service?.spec.listeners.find((candidate) => candidate.name === name);
      if (service === undefined || listener === undefined) return undefined;
      // Its problems are told by the verdict, which resolves it for TCP listeners as well.
      const target = targetOf(read, listener.defaultAction?.forward, service.scope, '', []);
      return { unit, generation: service.generation, action: listener.defaultAction, target };
    },
    { same: (a, b) => a.generation === b.generation && a.action === b.action && sameJson(a.target, b.target) },
  );
  return { ruleSets, ruleSetsOf, defaultActions };
}

/** Rules are compared by identity: a spec stays the same value as long as its object does. */
function sameSet(a: RuleSet, b: RuleSet): boolean {
  return (
    a.generation === b.generation &&
    a.age.createdRevision === b.age.createdRevision &&
    a.rules.length === b.rules.length &&
    a.rules.every(({ rule }, at) => rule === b.rules[at]?.rule) &&
    sameJson(
      a.rules.map(({ target }) => target),
      b.rules.map(({ target }) => target),
    ) &&
    sameJson([a.attachments, a.detached, a.problems], [b.attachments, b.detached, b.problems])
  );
}
