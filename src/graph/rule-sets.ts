import { type ObjectKey, type Rule, resolveRef } from '../model/index.ts';
import type { Derived, Index, Kernel, Read } from '../view/index.ts';
import { byAge, type EffectiveRows } from './effective.ts';
import { covers, intersect } from './hosts.ts';
import { hostKey, pathOf, splitKey } from './names.ts';
import { noTarget, type References, resolveTarget } from './references.ts';
import type {
  Attachment,
  DefaultActionRow,
  Effective,
  ListenerFacts,
  Problem,
  ResolvedRule,
  RuleSet,
  ServiceFacts,
  VirtualHostRow,
} from './rows.ts';
import { lowerCase, type Services } from './services.ts';

export interface RuleSets {
  /** By `RuleSet.key`. */
  readonly ruleSets: Derived<RuleSet>;
  /** Object → keys of its rule sets, members are the keys. */
  readonly ruleSetsOf: Index;
  /** By `service|listener`. */
  readonly defaultActions: Derived<DefaultActionRow>;
  /** By `hostKey`. */
  readonly virtualHosts: Derived<VirtualHostRow>;
  readonly virtualHostsOf: Index;
}

/** Last part of the key of the set that makes a listener's own hosts be served. */
const defaultSet = 'default';

/** Key of the rule set of an inline entry: `service|listener|entry`; of a Route it is the Route's own key. */
function inlineKey(service: ObjectKey, listener: string, entry: number | typeof defaultSet): string {
  return `${service}|${listener}|${entry}`;
}

/** Rules, where they are attached, and which of them serve each host of each route table. */
export function declareRuleSets(
  kernel: Kernel,
  effective: EffectiveRows,
  services: Services,
  references: References,
): RuleSets {
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

  const ruleSets = kernel.derive<RuleSet>('rule sets', [inlineKeys, effective.Route], (read, key) => {
    const [unit = '', listener, entry] = splitKey(key);
    return listener === undefined || entry === undefined
      ? attachedSet(read, unit)
      : inlineSet(read, key, unit, listener, entry);
  });

  function inlineSet(read: Read, key: string, unit: ObjectKey, name: string, entry: string): RuleSet | undefined {
    const service = read(effective.VirtualService, unit);
    const facts = read(services.facts, unit);
    const listener = service?.spec.listeners.find((candidate) => candidate.name === name);
    const listenerFacts = facts?.listeners.find((candidate) => candidate.name === name);
    if (service === undefined || facts === undefined || listener === undefined || listenerFacts?.table === undefined)
      return undefined;
    const isDefault = entry === defaultSet;
    const route = isDefault ? undefined : listener.routes?.[Number(entry)];
    const problems: Problem[] = [];
    const hosts = intersect(listenerFacts.hosts, lowerCase(route?.hosts));
    const place = `listener ${name}`;
    const outside = !isDefault && hosts.length === 0;
    return {
      key,
      unit,
      generation: service.generation,
      age: service.age,
      scope: service.scope,
      isDefault,
      attachments:
        !facts.enabled || outside ? [] : [{ service: unit, listener: name, table: listenerFacts.table, hosts }],
      rules: (route?.rules ?? []).map((rule) => resolveRule(read, rule, service.scope, place, problems)),
      problems,
      detached: outside
        ? [
            {
              service: unit,
              listener: name,
              reason: 'HostConflict',
              message: `${place} serves none of the hosts of its route ${entry}`,
            },
          ]
        : [],
    };
  }

  function attachedSet(read: Read, unit: ObjectKey): RuleSet | undefined {
    const route = read(effective.Route, unit);
    if (route === undefined) return undefined;
    const problems: Problem[] = [];
    const attachments: Attachment[] = [];
    const detached: RuleSet['detached'][number][] = [];
    for (const { virtualService, listener } of route.spec.attachTo) {
      const service = resolveRef(virtualService, 'VirtualService', route.scope);
      const outcome = attach(route, read(services.facts, service), listener);
      if ('reason' in outcome) {
        detached.push({ service, listener, ...outcome });
        continue;
      }
      const left = leftOut(lowerCase(route.spec.hosts), outcome.hosts);
      if (left.length > 0) {
        const message = `the listener does not serve, or does not allow, ${left.join(', ')}`;
        detached.push({ service, listener, reason: 'AttachmentNotAllowed', message });
      }
      if (!attachments.some((other) => other.service === service && other.listener === listener))
        attachments.push(outcome);
    }
    return {
      key: unit,
      unit,
      generation: route.generation,
      age: route.age,
      scope: route.scope,
      isDefault: false,
      attachments,
      rules: route.spec.rules.map((rule) => resolveRule(read, rule, route.scope, '', problems)),
      problems,
      detached,
    };
  }

  function resolveRule(read: Read, rule: Rule, scope: string, place: string, problems: Problem[]): ResolvedRule {
    const where = place === '' ? `rule ${rule.name}` : `rule ${rule.name} of ${place}`;
    const { forward } = rule.action;
    return {
      rule,
      target: forward === undefined ? noTarget : resolveTarget(read, references, forward, scope, where, problems),
    };
  }

  const ruleSetsOf = kernel.index('rule sets of objects', ruleSets, (row: RuleSet) => [row.unit]);

  const defaultActionKeys = kernel.index(
    'default actions by listener',
    effective.VirtualService,
    (service: Effective<'VirtualService'>) =>
      service.spec.listeners.filter(({ protocol }) => protocol !== 'TCP').map(({ name }) => `${service.key}|${name}`),
  );
  const defaultActions = kernel.derive<DefaultActionRow>('default actions', defaultActionKeys, (read, key) => {
    const [unit = '', name = ''] = splitKey(key);
    const service = read(effective.VirtualService, unit);
    const listener = service?.spec.listeners.find((candidate) => candidate.name === name);
    if (service === undefined || listener === undefined) return undefined;
    const forward = listener.defaultAction?.forward;
    const target = forward === undefined ? noTarget : resolveTarget(read, references, forward, service.scope, '', []);
    return { unit, generation: service.generation, action: listener.defaultAction, target };
  });

  const hostClaims = kernel.index('host claims', ruleSets, (row: RuleSet) =>
    row.attachments.flatMap(({ table, hosts }) => hosts.map((host) => hostKey(table, host))),
  );

  const virtualHosts = kernel.derive<VirtualHostRow>(
    'virtual hosts',
    hostClaims,
    (read, key) => {
      const at = key.lastIndexOf('|');
      const table = key.slice(0, at);
      const host = key.slice(at + 1);
      const claims: RuleSet[] = [];
      for (const set of read(hostClaims, key)) {
        const row = read(ruleSets, set);
        if (row !== undefined) claims.push(row);
      }
      return virtualHost(table, host, claims);
    },
    { same: (a, b) => JSON.stringify(a) === JSON.stringify(b) },
  );
  const virtualHostsOf = kernel.index('virtual hosts of tables', virtualHosts, (row: VirtualHostRow) => [row.table]);
  return { ruleSets, ruleSetsOf, defaultActions, virtualHosts, virtualHostsOf };
}

/** The oldest claim on a host owns it for its scope; rules of that scope are merged, others stay out. */
function virtualHost(table: string, host: string, claims: RuleSet[]): VirtualHostRow | undefined {
  claims.sort((a, b) => byAge(a.age, b.age) || compareEntries(a.key, b.key));
  const [service = ''] = splitKey(table);
  const attachment = claims
    .flatMap((row) => row.attachments)
    .find((at) => at.table === table && at.hosts.includes(host));
  if (attachment === undefined) return undefined;
  const owner = claims.find((row) => !row.isDefault);
  return {
    table,
    host,
    sets: claims.filter((row) => row.scope === owner?.scope && !row.isDefault).map((row) => row.key),
    owner: owner === undefined ? undefined : { unit: owner.unit, scope: owner.scope },
    service,
    listener: attachment.listener,
  };
}

/** Inline entries of one service in the order written: their keys end in the entry's number. */
function compareEntries(a: string, b: string): number {
  const [, listenerA = '', entryA = ''] = splitKey(a);
  const [, listenerB = '', entryB = ''] = splitKey(b);
  return listenerA < listenerB ? -1 : listenerA > listenerB ? 1 : Number(entryA) - Number(entryB);
}

/** Where a Route comes to stand on one listener, or why it does not. */
function attach(route: Effective<'Route'>, service: ServiceFacts | undefined, name: string): Attachment | Problem {
  if (service === undefined) {
    return { reason: 'NotAttached', message: 'the virtual service does not exist: create it, or attach to another' };
  }
  const listener = service.listeners.find((candidate) => candidate.name === name);
  if (listener === undefined) return { reason: 'NotAttached', message: `the virtual service has no listener ${name}` };
  if (listener.table === undefined)
    return { reason: 'NotAttached', message: `listener ${name} is TCP and takes no HTTP rules` };
  if (!listener.allowedScopes.some((scope) => scope === '*' || scope === route.scope)) {
    const message = `listener ${name} does not allow Routes of scope ${route.scope}: add it to allowedRoutes.scopes`;
    return { reason: 'AttachmentNotAllowed', message };
  }
  if (!service.enabled) return { reason: 'NotAttached', message: 'the virtual service is disabled' };
  return attachHosts(route, service, listener, listener.table);
}

function attachHosts(
  route: Effective<'Route'>,
  service: ServiceFacts,
  listener: ListenerFacts,
  table: string,
): Attachment | Problem {
  const wanted = lowerCase(route.spec.hosts);
  const served = intersect(listener.hosts, wanted);
  if (served.length === 0) {
    const message = `listener ${listener.name} serves ${listener.hosts?.join(', ')}, none of the hosts of this Route`;
    return { reason: 'NotAttached', message };
  }
  const { allowedHosts } = listener;
  const hosts =
    allowedHosts === undefined
      ? served
      : served.filter((host) => allowedHosts.some((pattern) => covers(pattern, host)));
  if (hosts.length === 0) {
    const named = wanted === undefined ? 'Routes that name no hosts' : served.join(', ');
    const message = `listener ${listener.name} does not allow ${named}: it allows ${allowedHosts?.join(', ')}`;
    return { reason: 'AttachmentNotAllowed', message };
  }
  return { service: service.key, listener: listener.name, table, hosts };
}

/** Hosts that a Route names and of which nothing came to be served. */
function leftOut(wanted: readonly string[] | undefined, hosts: readonly string[]): readonly string[] {
  return (wanted ?? []).filter((host) => !hosts.some((served) => covers(host, served)));
}

/** Text for a place of attachment: `default/shop, listener web`. */
export function placeOf(at: { readonly service: ObjectKey; readonly listener: string | undefined }): string {
  return at.listener === undefined ? pathOf(at.service) : `${pathOf(at.service)}, listener ${at.listener}`;
}
