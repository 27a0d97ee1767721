import { type Kind, objectKey, type RouteSpec, resolveRef } from '../model/index.ts';
import type { Collection, Derived, Kernel, Read } from '../view/index.ts';
import { placeOf } from './attachments.ts';
import type { EffectiveRows, ObjectTables } from './effective.ts';
import { forwardOf } from './listeners.ts';
import { anyAddress, hostKey, pathOf } from './names.ts';
import { type References, resolveCertificate, resolveTarget } from './references.ts';
import type { Effective, ListenerRow, Problem, RuleSet, ServiceFacts, Verdict, Verdicts } from './rows.ts';
import { inlineKeysOf, type RuleSets } from './rule-sets.ts';
import { sameJson } from './same.ts';
import { ownerOfSocket, type Services } from './services.ts';
import type { VirtualHosts } from './virtual-hosts.ts';

interface Parts {
  readonly objects: ObjectTables;
  readonly effective: EffectiveRows;
  readonly services: Services;
  readonly listeners: Derived<ListenerRow>;
  readonly references: References;
  readonly rules: RuleSets;
  readonly hosts: VirtualHosts;
}

/** What follows for each object from the objects alone. Whether proxies took it is not known here. */
export function declareVerdicts(kernel: Kernel, parts: Parts): Derived<Verdicts> {
  const { objects, effective } = parts;
  const verdict: { readonly [K in Kind]: (read: Read, row: Effective<K>) => Verdicts } = {
    Scope: () => fine,
    RoleBinding: (read, binding) => all([], scopeProblems(read, parts, binding)),
    Fleet: () => fine,
    Node: () => fine,
    Certificate: () => fine,
    BackendPool: (read, pool) => all([], poolProblems(read, parts, pool)),
    VirtualService: (read, service) => serviceVerdicts(read, parts, service),
    Route: (read, route) => routeVerdicts(read, parts, route),
  };
  return kernel.derive<Verdicts>(
    'verdicts',
    Object.values(objects) as Collection[],
    (read, key) => {
      const kind = key.slice(0, key.indexOf('/')) as Kind;
      const row = read(effective[kind] as Derived<Effective>, key);
      return row === undefined ? fine : verdict[kind](read, row as never);
    },
    { same: sameJson },
  );
}

/** What most objects have, and share. */
const fine: Verdicts = { conditions: [condition('Accepted', []), condition('ResolvedRefs', [])] };

/** `notAccepted` and `unresolved` are the problems; the first gives the reason, all give the message. */
function all(notAccepted: readonly Problem[], unresolved: readonly Problem[] = []): Verdicts {
  if (notAccepted.length === 0 && unresolved.length === 0) return fine;
  return { conditions: [condition('Accepted', notAccepted), condition('ResolvedRefs', unresolved)] };
}

function condition(type: Verdict['type'], problems: readonly Problem[]): Verdict {
  const [first] = problems;
  if (first === undefined) return { type, status: 'True', reason: type, message: '' };
  const messages = [...new Set(problems.map(({ message }) => message))];
  return { type, status: 'False', reason: first.reason, message: listed(messages) };
}

/** The longest list of problems in one message; a list of thousands helps nobody. */
const listedProblems = 8;

function listed(messages: readonly string[]): string {
  const shown = messages.slice(0, listedProblems).join('; ');
  const left = messages.length - listedProblems;
  return left > 0 ? `${shown}; and ${left} more` : shown;
}

/** Nobody is given anything in a scope that is not there. */
function scopeProblems(read: Read, { objects }: Parts, { spec }: Effective<'RoleBinding'>): Problem[] {
  return (spec.scopes ?? []).flatMap((scope) => {
    if (scope === '*' || read(objects.Scope, objectKey('Scope', undefined, scope)) !== undefined) return [];
    const message = `scopes names Scope ${scope}, which does not exist: create it, or name another`;
    return [{ reason: 'ReferenceMissing', message }];
  });
}

function poolProblems(read: Read, { references }: Parts, pool: Effective<'BackendPool'>): Problem[] {
  const { tls } = pool.spec;
  if (tls === undefined) return [];
  const resolved = [resolveCertificate(read, references, tls.ca, pool.scope, 'tls.ca', 'ca')];
  if (tls.certificate !== undefined) {
    resolved.push(resolveCertificate(read, references, tls.certificate, pool.scope, 'tls.certificate', 'pair'));
  }
  return resolved.flatMap((outcome) => ('problem' in outcome ? [outcome.problem] : []));
}

function serviceVerdicts(read: Read, parts: Parts, service: Effective<'VirtualService'>): Verdicts {
  const { services, references } = parts;
  const facts = read(services.facts, service.key);
  if (facts === undefined) return fine;
  const unresolved: Problem[] = [];
  for (const listener of service.spec.listeners) {
    const place = `listener ${listener.name}`;
    for (const ref of listener.certificates ?? []) {
      const resolved = resolveCertificate(read, references, ref, service.scope, place, 'pair');
      if ('problem' in resolved) unresolved.push(resolved.problem);
    }
    resolveTarget(read, references, forwardOf(listener.defaultAction), service.scope, place, unresolved);
  }
  const sets = inlineKeysOf(service).flatMap((key) => read(parts.rules.ruleSets, key) ?? []);
  for (const set of sets) unresolved.push(...set.problems);
  if (!facts.enabled) {
    const disabled: Verdict = {
      type: 'Accepted',
      status: 'True',
      reason: 'Disabled',
      message: 'spec.enabled is false: it is served nowhere',
    };
    return { conditions: [disabled, condition('ResolvedRefs', unresolved)] };
  }
  const problems: Problem[] = [];
  if (!facts.fleetExists) {
    const named =
      service.spec.fleet === undefined
        ? 'spec.fleet is not set and there is not exactly one Fleet'
        : `Fleet ${facts.fleet} does not exist`;
    problems.push({
      reason: 'FleetMissing',
      message: `${named}: create a Fleet named ${facts.fleet}, or name another`,
    });
  }
  problems.push(...socketProblems(read, parts, facts));
  for (const set of sets) problems.push(...set.detached, ...hostProblems(read, parts, set));
  return all(problems, unresolved);
}

function socketProblems(read: Read, { services, listeners }: Parts, facts: ServiceFacts): Problem[] {
  return facts.sockets.flatMap((wanted) => {
    // What is served is its own.
    if (read(listeners, wanted.key) !== undefined) return [];
    const owner = ownerOfSocket(read, services, facts.fleet, wanted);
    const { address, port } = wanted;
    if (owner === undefined || owner === facts.key) return [];
    const socket = address === anyAddress ? `port ${port} on all addresses` : `port ${port} on ${address}`;
    const message = `${socket} belongs to the older VirtualService ${pathOf(owner)}: choose another port or address, or attach to that one by Route`;
    return [{ reason: 'ListenerConflict', message }];
  });
}

/** Hosts of a rule set that belong to an older claim of another scope. */
function hostProblems(
  read: Read,
  { hosts }: Parts,
  set: RuleSet,
): (Problem & { readonly at: string; readonly host: string })[] {
  return set.attachments.flatMap((attachment) =>
    attachment.hosts.flatMap((host) => {
      const owner = read(hosts.hostOwners, hostKey(attachment.table, host));
      if (owner === undefined || owner.scope === set.scope) return [];
      const { unit } = owner;
      const name = host === '*' ? 'all hosts' : `host ${host}`;
      const message = `${name} on ${placeOf(attachment)} belongs to the older ${unit.slice(0, unit.indexOf('/'))} ${pathOf(unit)} of another scope`;
      return [{ reason: 'HostConflict', message, at: placeOf(attachment), host }];
    }),
  );
}

function routeVerdicts(read: Read, parts: Parts, route: Effective<'Route'>): Verdicts {
  const set = read(parts.rules.ruleSets, route.key);
  if (set === undefined) return fine;
  const conflicts = hostProblems(read, parts, set);
  const detached = set.detached.map((problem) => ({
    reason: problem.reason,
    message: `${placeOf(problem)}: ${problem.message}`,
  }));
  const verdicts = all([...detached, ...conflicts], set.problems);
  return { ...verdicts, attachments: attachmentsOf(route.spec, route.scope, set, conflicts) };
}

function attachmentsOf(
  spec: RouteSpec,
  scope: string,
  set: RuleSet,
  conflicts: readonly (Problem & { readonly at: string; readonly host: string })[],
): NonNullable<Verdicts['attachments']> {
  return spec.attachTo.map(({ virtualService, listener }) => {
    const service = resolveRef(virtualService, 'VirtualService', scope);
    const attachment = set.attachments.find((at) => at.service === service && at.listener === listener);
    const place = placeOf({ service, listener });
    const lost = conflicts.filter(({ at }) => at === place);
    const problem = set.detached.find((at) => at.service === service && at.listener === listener) ?? lost[0];
    const hosts = (attachment?.hosts ?? []).filter((host) => !lost.some((conflict) => conflict.host === host));
    return {
      virtualService: pathOf(service),
      listener,
      hosts,
      accepted: hosts.length > 0,
      reason: problem?.reason ?? 'Accepted',
      message: problem?.message ?? '',
    };
  });
}
