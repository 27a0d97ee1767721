import type { HostPort } from './host-port.ts';
import { parseHostPort } from './host-port.ts';

/**
 * xDS addresses of all controllers, as one of them tells, for an Envoy that was given none: it tries them in turn from one
 * of its own choice, so that a fleet spreads over them. Undefined where they are of no use: one controller alone is
 * reached as it is by whoever asked it, and one that listens on loopback by nobody on another machine.
 */
export function usableControllers(told: unknown, server: HostPort['host']): HostPort[] | undefined {
  if (!Array.isArray(told) || told.length < 2) return undefined;
  const addresses: HostPort[] = [];
  for (const text of told) {
    if (typeof text !== 'string') return undefined;
    try {
      addresses.push(parseHostPort(text, 'xDS address of a controller'));
    } catch {
      return undefined;
    }
  }
  return isLoopback(server) || !addresses.some(({ host }) => isLoopback(host)) ? addresses : undefined;
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\./.test(host);
}
