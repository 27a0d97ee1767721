import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { type ServerConfig, splitHostPort } from '../config/index.ts';

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

/** Of this Fairway, from package.json. */
export function programVersion(): string {
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    readonly version: string;
  };
  return manifest.version;
}
