import { type ObjectKey, resolveRef } from '../model/index.ts';
import type { Read } from '../view/index.ts';
import type { ObjectTables } from './effective.ts';
import { covers, intersect, lowerCase } from './hosts.ts';
import { pathOf } from './names.ts';
import type { Attachment, Effective, ListenerFacts, Problem, RuleSet, ServiceFacts } from './rows.ts';
import type { Services } from './services.ts';

/** Where Routes come to stand on listeners, and why they do not. */

/** Text for a place of attachment: `default/shop, listener web`. */
export function placeOf(at: { readonly service: ObjectKey; readonly listener: string | undefined }): string {
  return at.listener === undefined ? pathOf(at.service) : `${pathOf(at.service)}, listener ${at.listener}`;
}

/** The attachments of a Route that work, and the problems of those that do not, or not for all hosts. */
export function attachmentsOf(
  read: Read,
  { objects, services }: { objects: ObjectTables; services: Services },
  route: Effective<'Route'>,
): Pick<RuleSet, 'attachments' | 'detached'> {
  const attachments: Attachment[] = [];
  const detached: RuleSet['detached'][number][] = [];
  for (const { virtualService, listener } of route.spec.attachTo) {
    const service = resolveRef(virtualService, 'VirtualService', route.scope);
    // The same place, once by its name and once with its scope.
    if (attachments.some((other) => other.service === service && other.listener === listener)) continue;
    const facts = read(services.facts, service);
    const outcome = facts === undefined ? absent(read, objects, service) : attach(route, facts, listener);
    if ('reason' in outcome) {
      detached.push({ service, listener, ...outcome });
      continue;
    }
    attachments.push(outcome);
    const left = leftOut(lowerCase(route.spec.hosts), outcome.hosts);
    if (left.length === 0) continue;
    const message = `the listener does not serve, or does not allow, ${left.join(', ')}`;
    detached.push({ service, listener, reason: 'AttachmentNotAllowed', message });
  }
  return { attachments, detached };
}

function absent(read: Read, objects: ObjectTables, service: ObjectKey): Problem {
  const isWithheld = read(objects.VirtualService, service) !== undefined;
  const message = isWithheld
    ? 'proxies refuse the virtual service, and it has no good form yet: see its conditions'
    : 'the virtual service does not exist: create it, or attach to another';
  return { reason: 'NotAttached', message };
}

function attach(route: Effective<'Route'>, service: ServiceFacts, name: string): Attachment | Problem {
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
