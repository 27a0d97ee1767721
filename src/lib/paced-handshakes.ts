import type { Server, Socket } from 'node:net';

/**
 * From the beginning of one handshake to that of the next, at least; a timer takes up to another millisecond. With a
 * certificate on both sides, and with what a new stream begins with, a client takes about 2 ms of the loop, whose other
 * half is for all others.
 */
const gapMs = 1;

/**
 * Begins the TLS handshakes of a server one by one. All clients that come in one turn of the event loop would otherwise
 * begin theirs in it, and be ready for the rest of it at the same time, too: a thousand that come at once, as after the
 * loss of another controller, held the loop for a fifth of a second at a stretch, and whoever was there already waited.
 * Nobody is refused, and nobody waits for one that is slow: what is bounded is how many begin in a second, not how many
 * are under way.
 *
 * For a server that does not listen yet.
 */
export function paceHandshakes(server: Server): void {
  const handshakes = server.listeners('connection') as ((this: Server, socket: Socket) => void)[];
  const waiting: Socket[] = [];
  /** Set while something waits, or has begun just now. */
  let next: NodeJS.Timeout | undefined;

  function begin(): void {
    const socket = nextOf(waiting);
    next = socket === undefined ? undefined : setTimeout(begin, gapMs);
    if (socket === undefined) return;
    socket.off('error', hungUp);
    for (const handshake of handshakes) handshake.call(server, socket);
  }

  server.removeAllListeners('connection');
  server.on('connection', (socket) => {
    socket.on('error', hungUp);
    waiting.push(socket);
    if (next === undefined) begin();
  });
}

/** The first that is still there. */
function nextOf(waiting: Socket[]): Socket | undefined {
  let socket = waiting.shift();
  while (socket?.destroyed) socket = waiting.shift();
  return socket;
}

const hungUp = (): void => undefined;
