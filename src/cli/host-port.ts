import { isIPv6 } from 'node:net';
import { usageError } from './failure.ts';

export interface HostPort {
  /** Name or address; an IPv6 address without brackets. */
  readonly host: string;
  readonly port: number;
}

/**
 * Reads `HOST:PORT`, `[IPV6]:PORT` or, where there is a default port, the host alone. `what` names the thing in the
 * message of the refusal.
 */
export function parseHostPort(text: string, what: string, defaultPort?: number): HostPort {
  const wrong = () => usageError(`"${text}" is no ${what}`, 'Write it as HOST:PORT or [IPV6]:PORT.');
  if (isIPv6(text) && defaultPort !== undefined) return { host: text, port: defaultPort };
  const match = /^(?:\[(?<v6>[^\]]+)\]|(?<name>[^:[\]/\s]+))(?::(?<port>[0-9]{1,5}))?$/.exec(text);
  const { v6, name, port } = match?.groups ?? {};
  const host = v6 ?? name;
  if (host === undefined || (v6 !== undefined && !isIPv6(v6))) throw wrong();
  if (port === undefined && defaultPort === undefined) throw wrong();
  const number = port === undefined ? (defaultPort ?? 0) : Number(port);
  if (number > 65535) throw wrong();
  return { host, port: number };
}
