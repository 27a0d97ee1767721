import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { joinHostPort, type ServerConfig, splitHostPort } from '../config/index.ts';

/**
 * What a controller is called among the others, and after a restart again: its configured name, else the host, in a
 * cluster with the port, since several may run on one machine.
 */
export function controllerName({ name, store, listen, xdsListen, roles }: ServerConfig): string {
  if (name !== '') return name;
  if (store !== 'etcd') return hostname();
  const port = splitHostPort(roles === 'xds' ? xdsListen : listen)?.port;
  // A port that is free now is another one next time: so is the process.
  return `${hostname()}:${port === 0 ? process.pid : port}`;
}

/**
 * An address that was listened at, as others reach it. Who listens on all addresses of a machine says none, and is found by
 * the name of the machine.
 */
export function advertisedAddress({ advertise }: Pick<ServerConfig, 'advertise'>, address: string): string {
  const at = splitHostPort(address);
  if (at === undefined) return address;
  const isAny = at.host === '0.0.0.0' || at.host === '::';
  const host = advertise !== '' ? advertise : isAny ? hostname() : at.host;
  return joinHostPort(host, at.port);
}

/** Of this Fairway, from package.json. */
export function programVersion(): string {
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    readonly version: string;
  };
  return manifest.version;
}
