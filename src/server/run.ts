import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerConfig } from '../config/index.ts';
import { backoffMs } from '../lib/backoff.ts';
import { nextTurn } from '../lib/next-turn.ts';
import { type SliceMeter, unmeasured } from '../lib/slices.ts';
import type { Store } from '../store/store.ts';
import type { Logger } from '../telemetry/log.ts';
import type { RawPatch } from '../translate/index.ts';
import type { Budget } from '../view/index.ts';
import { controllerName } from './identity.ts';
import { untilAvailable } from './open-store.ts';

export interface ServerOptions {
  readonly config: ServerConfig;
  readonly log: Logger;
  /** The store to use instead of the configured one; closed with the server. */
  readonly store?: Store;
  /** Keys that seal secrets in the store, instead of those of the configured file. */
  readonly dataKeys?: string | undefined;
  /** Called when the server cannot go on: its store has failed. */
  readonly onFailure?: (error: Error) => void;
  /** Aborted to give up a start that waits for its store. */
  readonly signal?: AbortSignal;
  /** For tests: changes Envoy's messages before they are encoded, to make what a proxy refuses. */
  readonly rawPatch?: RawPatch;
  /** For benches: told what holds the event loop. */
  readonly slices?: SliceMeter;
  /** For tests: how long controllers have to take up a new root of the authority. Default a minute. */
  readonly rotationFollowMs?: number;
  /** Makes another admin token although there are some. */
  readonly newAdminToken?: boolean;
  /** Variables that say where this user keeps files; default: those of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** What all parts of a server are told alike. One per start. */
export interface Run {
  readonly config: ServerConfig;
  /** Name of this controller, the same one in each of its runs. */
  readonly replica: string;
  /** Of this run of the process. */
  readonly id: string;
  readonly roles: readonly string[];
  readonly now: () => number;
  readonly newId: () => string;
  readonly budget: Budget;
  readonly slices: SliceMeter;
  readonly log: Logger;
  logOf(room: string): Logger;
  /** Does what the start needs of a store, again and again while that is elsewhere and out of reach. */
  available<T>(task: () => Promise<T>): Promise<T>;
  /** Waits before something that failed is tried again. */
  retry(attempt: number, signal: AbortSignal): Promise<void>;
}

/** Work of the View on the event loop is cut into slices of this length. */
const sliceMs = 4;

export function createRun({ config, log, slices = unmeasured, signal }: ServerOptions): Run {
  const newId = (): string => randomUUID();
  const waiting = { config, log, signal: signal ?? new AbortController().signal };
  return {
    config,
    replica: controllerName(config),
    id: newId(),
    roles: config.roles.split(','),
    now: () => Date.now(),
    newId,
    budget: { sliceMs, now: () => performance.now(), pause: nextTurn },
    slices,
    log,
    logOf: (room) => log.child({ room }),
    available: (task) => untilAvailable(task, waiting),
    retry: (attempt, signal) =>
      sleep(backoffMs(attempt, { baseMs: 50, maxMs: 5_000, random: Math.random() }), undefined, { signal }),
  };
}
