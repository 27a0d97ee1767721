import {
  type BackendPoolSpec,
  type CertificateSpec,
  type DraftObject,
  type FleetSpec,
  type Kind,
  parseObject,
  type RouteSpec,
  type Rule,
  type VirtualServiceSpec,
} from '../../src/model/index.ts';

/** Objects as an operator would write them, in short. A path is `name`, or `scope/name`. What is not valid throws. */

type Listener = VirtualServiceSpec['listeners'][number];

export function draft(kind: Kind, path: string, spec: unknown): DraftObject {
  const [first = '', second] = path.split('/');
  const metadata = second === undefined ? { name: first } : { scope: first, name: second };
  const parsed = parseObject({ apiVersion: 'fairway/v1', kind, metadata, spec });
  if (!parsed.ok) throw new Error(`${kind} ${path}: ${JSON.stringify(parsed.error)}`);
  return parsed.value;
}

export function fleet(name: string, spec: FleetSpec = {}): DraftObject {
  return draft('Fleet', name, spec);
}

/** An HTTP service at port 80 unless told otherwise. */
export function service(path: string, spec: Partial<VirtualServiceSpec> = {}): DraftObject {
  return draft('VirtualService', path, { listeners: [http()], ...spec });
}

export function http(rest: Partial<Listener> = {}): Listener {
  return { name: 'web', port: 80, protocol: 'HTTP', ...rest };
}

export function https(certificates: readonly string[], rest: Partial<Listener> = {}): Listener {
  return { name: 'web', port: 443, protocol: 'HTTPS', certificates: [...certificates], ...rest };
}

export function tcp(pool: string, rest: Partial<Listener> = {}): Listener {
  return { name: 'raw', port: 25, protocol: 'TCP', defaultAction: { pool }, ...rest };
}

/** A Route with one rule that forwards to pools, attached to `at`: `service listener`. */
export function route(
  path: string,
  at: string | readonly string[],
  rest: Partial<Omit<RouteSpec, 'attachTo'>> & { readonly pools?: readonly string[] } = {},
): DraftObject {
  const { pools = [], ...spec } = rest;
  const attachTo = [at].flat().map((place) => {
    const [virtualService, listener = 'web'] = place.split(' ');
    return { virtualService, listener };
  });
  return draft('Route', path, { attachTo, rules: [pools.length === 0 ? respond() : forward(...pools)], ...spec });
}

export function forward(...pools: readonly string[]): Rule {
  return { name: 'forward', action: { forward: pools.map((pool) => ({ pool })) } };
}

export function respond(status = 204): Rule {
  return { name: 'respond', action: { respond: { status } } };
}

export function pool(
  path: string,
  spec: BackendPoolSpec = { members: [{ address: '10.0.0.1', port: 80 }] },
): DraftObject {
  return draft('BackendPool', path, spec);
}

/** A chain with a key whose texts say nothing: the graph does not look into them. */
export function certificate(path: string, rest: Partial<CertificateSpec> = {}): DraftObject {
  return draft('Certificate', path, { chain: pem('CERTIFICATE', path), key: pem('PRIVATE KEY', path), ...rest });
}

export function authority(path: string, rest: Partial<CertificateSpec> = {}): DraftObject {
  return draft('Certificate', path, { ca: pem('CERTIFICATE', path), ...rest });
}

function pem(label: string, content: string): string {
  return `-----BEGIN ${label}-----\n${Buffer.from(content).toString('base64')}\n-----END ${label}-----\n`;
}
