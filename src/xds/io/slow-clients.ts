import type { Connection, Reading } from './connection.ts';
import { status } from './status.ts';

export interface SlowClientsOptions {
  /** A client that has taken nothing for so long is cut off. */
  readonly limitMs: number;
  /** How many clients are slow now. */
  readonly onSlow: (count: number) => void;
  readonly onCut: (connection: Connection) => void;
}

export interface SlowClients extends Reading {
  close(): void;
}

/** A large response takes its time; who needs longer for it is called slow. */
const slowAfterMs = 5_000;

/**
 * Watches over clients whose socket is full. One that reads no more costs little, but it is told nothing either, and
 * looks as if it were connected: keepalive does not find it, for its HTTP/2 goes on answering. Cut off, it comes back.
 */
export function watchSlowClients({ limitMs, onSlow, onCut }: SlowClientsOptions): SlowClients {
  const everyMs = Math.min(slowAfterMs, limitMs) / 5;
  /** Since when each has been full. */
  const full = new Map<Connection, number>();
  let told = 0;
  let timer: NodeJS.Timeout | undefined;

  function tell(count: number): void {
    if (count === told) return;
    told = count;
    onSlow(count);
  }

  function look(): void {
    const now = performance.now();
    let slow = 0;
    for (const [connection, since] of full) {
      if (now - since >= limitMs) {
        full.delete(connection);
        onCut(connection);
        connection.end(status.UNAVAILABLE, 'nothing was read for too long: open another stream');
      } else if (now - since >= slowAfterMs) slow += 1;
    }
    tell(slow);
    if (full.size === 0) stop();
  }

  function stop(): void {
    clearInterval(timer);
    timer = undefined;
    tell(0);
  }

  return {
    full(connection) {
      if (!full.has(connection)) full.set(connection, performance.now());
      timer ??= setInterval(look, everyMs).unref();
    },
    drained(connection) {
      full.delete(connection);
    },
    close: stop,
  };
}
