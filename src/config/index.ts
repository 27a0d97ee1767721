/**
 * config: how a process runs, as opposed to what it serves, which stands in the store. Pure: file content, environment
 * and flags in, a checked configuration or all its faults out.
 */
export { type HostPort, joinHostPort, splitHostPort } from './host-port.ts';
export { parseServerConfig } from './parse.ts';
export { type ServerConfig, serverDefaults, serverFields } from './server-config.ts';
