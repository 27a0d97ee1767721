import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Transform } from 'node:stream';

/** Stands between a client and a server of a test: counts bytes, can be pointed elsewhere, and makes faults. */
export interface TcpProxy {
  readonly port: number;
  /** Bytes from the server to the client since the last `reset`. */
  readonly received: number;
  readonly connections: number;
  reset(): void;
  /** Where new connections go. */
  target(port: number): void;
  /** What the server says is kept back, while it hears everything; false lets all of it go. */
  holdAnswers(hold: boolean): void;
  /** The same for what the client says. */
  holdRequests(hold: boolean): void;
  /** What is said from now on arrives this much later, in each direction. */
  delay(ms: number): void;
  /** Ends all connections; what was kept back is lost. */
  cut(): void;
  close(): Promise<void>;
}

export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const [requests, answers] = [new Gate(), new Gate()];
  let target = targetPort;
  let received = 0;
  let connections = 0;
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    connections += 1;
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    upstream.on('data', (chunk: Buffer) => {
      received += chunk.byteLength;
    });
    client.pipe(requests.stream()).pipe(upstream);
    upstream.pipe(answers.stream()).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    get received() {
      return received;
    },
    get connections() {
      return connections;
    },
    reset() {
      received = 0;
      connections = 0;
    },
    target(port) {
      target = port;
    },
    holdAnswers: (hold) => answers.hold(hold),
    holdRequests: (hold) => requests.hold(hold),
    delay(ms) {
      requests.delayMs = ms;
      answers.delayMs = ms;
    },
    cut,
    close() {
      cut();
      requests.hold(false);
      answers.hold(false);
      return new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** One direction of all connections: open, shut, or slow. */
class Gate {
  delayMs = 0;
  #open = Promise.resolve();
  #unlock: (() => void) | undefined;

  hold(hold: boolean): void {
    if (hold === (this.#unlock !== undefined)) return;
    if (hold) {
      this.#open = new Promise((resolve) => {
        this.#unlock = resolve;
      });
    } else {
      this.#unlock?.();
      this.#unlock = undefined;
    }
  }

  stream(): Transform {
    let queue: Promise<void> = Promise.resolve();
    const stream = new Transform({
      // Each chunk waits for itself alone, so that a delay does not add up.
      transform: (chunk: Buffer, _encoding, taken) => {
        const delayed = new Promise<void>((resolve) =>
          this.delayMs > 0 ? setTimeout(resolve, this.delayMs) : resolve(),
        );
        queue = queue
          .then(() => delayed)
          .then(() => this.#open)
          .then(() => {
            if (!stream.destroyed) stream.push(chunk);
          });
        taken();
      },
      flush: (done) => {
        void queue.then(() => done());
      },
    });
    return stream;
  }
}
