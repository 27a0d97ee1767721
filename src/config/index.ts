/**
 * config: how a process runs, as opposed to what it serves, which stands in the store. Pure: file content, environment
 * and flags in, a checked configuration or all its faults out.
 */
export {
  type HostPort,
  joinHostPort,
  parseServerConfig,
  type ServerConfig,
  serverDefaults,
  serverFields,
  splitHostPort,
} from './server-config.ts';
