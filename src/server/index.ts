/**
 * server: the composition. Builds the rooms of one controller, hands each what it needs of the others, and keeps the
 * order of start and stop. Nothing is decided here.
 */
export type { ServerOptions } from './run.ts';
export type { Server } from './server.ts';
export { startServer } from './start.ts';
