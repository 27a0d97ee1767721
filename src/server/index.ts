/**
 * server: the composition. Builds the rooms of one controller, hands each what it needs of the others, and keeps the
 * order of start and stop. Nothing is decided here.
 */
export type { Server, ServerOptions } from './server.ts';
export { startServer } from './start.ts';
