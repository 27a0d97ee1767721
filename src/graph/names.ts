import type { ObjectKey } from '../model/index.ts';

/** The address that stands for "every address of the node" in keys of sockets. */
export const anyAddress = '*';

/** `scope/name` of an object's key, `name` for a global kind: how an operator refers to it, and its xDS name. */
export function pathOf(key: ObjectKey): string {
  return key.slice(key.indexOf('/') + 1);
}

export function scopeOf(key: ObjectKey): string {
  const parts = key.split('/');
  return parts.length === 3 ? (parts[1] as string) : '';
}

/** Key of a route table: HTTP listeners of a service that share a port share one, an HTTPS listener has its own. */
export function tableKey(service: ObjectKey, listener: { protocol: string; port: number; name: string }): string {
  return listener.protocol === 'HTTP' ? `${service}|:${listener.port}` : `${service}|/${listener.name}`;
}

/** The xDS name of a route table: `default/shop:80`, or `default/shop/web` of an HTTPS listener. */
export function tableName(table: string): string {
  return pathOf(table).replace('|', '');
}

/** Key of a socket that services of a fleet claim. */
export function claimKey(fleet: string, port: number, address: string): string {
  return `${fleet}|${port}|${address}`;
}

/** Key of what one service serves at one socket: one Envoy listener. */
export function socketKey(service: ObjectKey, address: string, port: number): string {
  return `${service}|${port}|${address}`;
}

export function hostKey(table: string, host: string): string {
  return `${table}|${host}`;
}

/** Splits a key made of an object's key and further parts. */
export function splitKey(key: string): string[] {
  return key.split('|');
}

/**
 * The cluster that stands in where a pool is missing or not allowed: it has no endpoints, so it answers 503. No pool is
 * called so, since their names have a slash.
 */
export const unavailableCluster = 'fairway:unavailable';

/** The audience of what every proxy of every fleet gets. */
export const allFleetsAudience = 'fleets/*';

/** The audience of what the proxies of these fleets get. */
export function fleetAudience(...fleets: readonly string[]): string {
  return `fleet/${fleets.join(',')}`;
}

/** The fleets of such an audience; none of `allFleetsAudience`. */
export function fleetsOfAudience(audience: string): readonly string[] {
  const prefix = fleetAudience();
  return audience.startsWith(prefix) ? audience.slice(prefix.length).split(',') : [];
}
