import type { Forward, ObjectKey, Rule } from '../model/index.ts';
import type { Derived, Kernel, Read } from '../view/index.ts';
import { attachmentsOf } from './attachments.ts';
import type { EffectiveRows } from './effective.ts';
import { intersect, lowerCase } from './hosts.ts';
import { splitKey } from './names.ts';
import { noTarget, type References, resolveTarget } from './references.ts';
import type { DefaultActionsRow, Effective, Problem, ResolvedRule, RuleSet, Target } from './rows.ts';
import { sameJson } from './same.ts';
import type { Services } from './services.ts';

export interface RuleSets {
  /** By `RuleSet.key`. */
  readonly ruleSets: Derived<RuleSet>;
  /** By service key. */
  readonly defaultActions: Derived<DefaultActionsRow>;
}

/** Key of the rule set of an inline entry: `service|listener|entry`; of a Route it is the Route's own key. */
function inlineKey(service: ObjectKey, listener: string, entry: number): string {
  return `${service}|${listener}|${entry}`;
}

/** Keys of the rule sets of a service's inline entries, in the order written. */
export function inlineKeysOf({ key, spec }: Effective<'VirtualService'>): string[] {
  return spec.listeners.flatMap(({ protocol, name, routes = [] }) =>
    protocol === 'TCP' ? [] : routes.map((_, entry) => inlineKey(key, name, entry)),
  );
}

/** Rules with their pools, and where they are attached. */
export function declareRuleSets(
  kernel: Kernel,
  effective: EffectiveRows,
  services: Services,
  references: References,
): RuleSets {
  const { objects } = references;
  const inlineKeys = kernel.index('inline rule sets', effective.VirtualService, inlineKeysOf);

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
    const route = listener.routes?.[Number(entry)];
    const hosts = intersect(listenerFacts.hosts, lowerCase(route?.hosts));
    const isOutside = hosts.length === 0;
    const place = `listener ${name}`;
    const attachment = { service: unit, listener: name, table: listenerFacts.table, hosts };
    const outside = { reason: 'HostConflict', message: `${place} serves none of the hosts of its route ${entry}` };
    return setOf(read, key, service, route?.rules ?? [], place, {
      attachments: !facts.enabled || isOutside ? none : [attachment],
      detached: isOutside ? [{ service: unit, listener: name, ...outside }] : none,
    });
  }

  function attachedSet(read: Read, unit: ObjectKey): RuleSet | undefined {
    const route = read(effective.Route, unit);
    if (route === undefined) return undefined;
    return setOf(read, unit, route, route.spec.rules, undefined, attachmentsOf(read, { objects, services }, route));
  }

  /** What the two sorts of sets have in common. */
  function setOf(
    read: Read,
    key: string,
    { key: unit, generation, age, scope }: Effective,
    rules: readonly Rule[],
    place: string | undefined,
    { attachments, detached }: Pick<RuleSet, 'attachments' | 'detached'>,
  ): RuleSet {
    const problems: Problem[] = [];
    const resolved = rules.map((rule): ResolvedRule => {
      const where = place === undefined ? `rule ${rule.name}` : `rule ${rule.name} of ${place}`;
      return { rule, target: targetOf(read, rule.action.forward, scope, where, problems) };
    });
    return {
      key,
      unit,
      generation,
      age,
      scope,
      attachments,
      rules: resolved,
      problems: orNone(problems),
      detached: orNone(detached),
    };
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

  const defaultActions = kernel.derive<DefaultActionsRow>(
    'default actions',
    effective.VirtualService,
    (read, unit) => {
      const service = read(effective.VirtualService, unit);
      if (service === undefined) return undefined;
      const listeners = service.spec.listeners
        .filter(({ protocol }) => protocol !== 'TCP')
        .map(({ name, defaultAction: action }) => {
          // Its problems are told by the verdict, which resolves it for TCP listeners as well.
          const target = targetOf(read, action?.forward, service.scope, '', []);
          return { name, action, target };
        });
      return { unit, generation: service.generation, listeners };
    },
    { same: sameActions },
  );
  return { ruleSets, defaultActions };
}

/** Actions are compared by identity, as rules are. */
function sameActions(a: DefaultActionsRow, b: DefaultActionsRow): boolean {
  return (
    a.generation === b.generation &&
    a.listeners.length === b.listeners.length &&
    a.listeners.every(({ name, action, target }, at) => {
      const other = b.listeners[at];
      return name === other?.name && action === other.action && sameJson(target, other.target);
    })
  );
}

/** Most lists of what does not work are empty, and one: there is a list for each set. */
function orNone<T>(list: readonly T[]): readonly T[] {
  return list.length === 0 ? none : list;
}

const none: readonly never[] = [];

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
