import type { FieldError } from '../lib/errors.ts';
import { canonicalIp } from '../lib/ip.ts';
import { duplicates } from './duplicates.ts';
import { checkHosts, overlappingHosts } from './host.ts';
import { pointerTo } from './ref.ts';
import { checkAction, checkRules } from './rule-check.ts';
import type { Listener, VirtualServiceSpec } from './virtual-service.ts';

/** What a schema cannot say about a VirtualService. */
export function checkVirtualService(spec: VirtualServiceSpec): readonly FieldError[] {
  return [
    ...duplicates(spec.addresses ?? [], '/spec/addresses', '/address', ({ address }) => canonicalIp(address)),
    ...duplicates(spec.listeners, '/spec/listeners', '/name', (listener) => listener.name),
    ...spec.listeners.flatMap((listener, i) => checkListener(listener, pointerTo('spec', 'listeners', i))),
    ...checkSharedPorts(spec.listeners),
  ];
}

function checkListener(listener: Listener, pointer: string): readonly FieldError[] {
  return [
    ...(listener.protocol === 'TCP' ? checkTcp(listener, pointer) : checkHttp(listener, pointer)),
    ...checkHosts(listener.hosts, `${pointer}/hosts`),
    ...checkHosts(listener.allowedRoutes?.hosts, `${pointer}/allowedRoutes/hosts`),
  ];
}

function checkTcp(listener: Listener, pointer: string): readonly FieldError[] {
  const errors: FieldError[] = (['certificates', 'hosts', 'routes', 'allowedRoutes'] as const)
    .filter((field) => listener[field] !== undefined)
    .map((field) => ({ pointer: `${pointer}/${field}`, message: 'is not possible with protocol TCP' }));
  const { defaultAction } = listener;
  if (defaultAction === undefined) {
    const message = 'is required with protocol TCP, as in `defaultAction: {pool: db}`';
    return [...errors, { pointer: `${pointer}/defaultAction`, message }];
  }
  const others = Object.keys(defaultAction).filter((field) => field !== 'pool');
  for (const field of others) {
    errors.push({
      pointer: `${pointer}/defaultAction/${field}`,
      message: 'is not possible with protocol TCP: give `pool` alone',
    });
  }
  return errors;
}

function checkHttp(listener: Listener, pointer: string): readonly FieldError[] {
  const { defaultAction, certificates, protocol, routes = [] } = listener;
  const errors: FieldError[] = [];
  if (protocol === 'HTTPS' && certificates === undefined) {
    errors.push({ pointer: `${pointer}/certificates`, message: 'is required with protocol HTTPS' });
  }
  if (protocol === 'HTTP' && certificates !== undefined) {
    errors.push({ pointer: `${pointer}/certificates`, message: 'is not possible with protocol HTTP; use HTTPS' });
  }
  for (const [i, route] of routes.entries()) {
    const at = pointer + pointerTo('routes', i);
    errors.push(...checkHosts(route.hosts, `${at}/hosts`), ...checkRules(route.rules, `${at}/rules`));
  }
  if (defaultAction?.pool !== undefined) {
    errors.push({
      pointer: `${pointer}/defaultAction/pool`,
      message: `is only for protocol TCP; with ${protocol} write \`forward: [{pool: ${defaultAction.pool}}]\``,
    });
  } else if (defaultAction !== undefined) {
    errors.push(...checkAction(defaultAction, `${pointer}/defaultAction`, 'prefix'));
  }
  return errors;
}

/** Listeners on one port: the host alone tells them apart, so each host must lead to one of them. */
function checkSharedPorts(listeners: readonly Listener[]): readonly FieldError[] {
  const errors: FieldError[] = [];
  for (const [i, listener] of listeners.entries()) {
    const pointer = pointerTo('spec', 'listeners', i);
    for (const [j, earlier] of listeners.slice(0, i).entries()) {
      if (earlier.port !== listener.port) continue;
      const fault = sharedPortFault(earlier, listener, pointerTo('spec', 'listeners', j));
      if (fault === undefined) continue;
      errors.push({ pointer: pointer + fault.field, message: fault.message });
      break;
    }
  }
  return errors;
}

function sharedPortFault(
  earlier: Listener,
  later: Listener,
  earlierAt: string,
): { readonly field: string; readonly message: string } | undefined {
  const port = `port ${later.port} is shared with ${earlierAt}`;
  if (earlier.protocol !== later.protocol) {
    return { field: '/protocol', message: `${port}, so it must be ${earlier.protocol} too, or the port another one` };
  }
  if (later.protocol === 'TCP') return { field: '/port', message: `${port}, which TCP does not allow` };
  const overlap = overlappingHosts(earlier.hosts, later.hosts);
  if (overlap === undefined) return undefined;
  const [theirs, ours] = overlap.map((host) => (host === '*' ? 'all hosts' : `\`${host}\``));
  return {
    field: '/hosts',
    message: `${port}, so the hosts must be disjoint, and ${ours} overlaps with ${theirs} there`,
  };
}
