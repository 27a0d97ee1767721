/**
 * Where benches with processes run: everything that one starts is stopped and its folder is removed when it ends, well,
 * broken or told to.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Stage {
  /** Of this run alone, gone after it. */
  readonly folder: string;
  /** Throws once somebody has asked this process to end: the way out of long loops. */
  proceed(): void;
  /** Has it stopped at the end, before all that was added earlier. */
  add<T extends Stoppable>(thing: T): T;
}

export interface Stoppable {
  stop(): Promise<unknown>;
}

const signals = ['SIGINT', 'SIGTERM'] as const;

export async function onStage<T>(play: (stage: Stage) => Promise<T>): Promise<T> {
  const interrupted = new AbortController();
  // Once: who asks a second time does not want to wait.
  const interrupt = (signal: NodeJS.Signals): void => {
    interrupted.abort(new Error(`ended by ${signal}`));
    for (const each of signals) process.off(each, interrupt);
  };
  for (const each of signals) process.on(each, interrupt);
  const folder = await mkdtemp(join(tmpdir(), 'fairway-bench-'));
  const things: Stoppable[] = [];
  try {
    return await play({
      folder,
      proceed: () => interrupted.signal.throwIfAborted(),
      add(thing) {
        things.push(thing);
        return thing;
      },
    });
  } finally {
    for (const thing of things.toReversed()) await thing.stop();
    await rm(folder, { recursive: true, force: true });
    for (const each of signals) process.off(each, interrupt);
  }
}
