import { canonicalIp } from '../lib/ip.ts';

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** `127.0.0.1:7600`, `[::1]:7600`, `localhost:0`; undefined when it is none of these. */
export function splitHostPort(text: string): HostPort | undefined {
  const parts = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text);
  const host = parts?.[1] ?? parts?.[2];
  const port = Number(parts?.[3]);
  return host === undefined || port > 65535 ? undefined : { host, port };
}

/** The other way round. */
export function joinHostPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

export function isLoopback(host: string): boolean {
  const address = canonicalIp(host);
  return host === 'localhost' || address === '::1' || address?.startsWith('127.') === true;
}
