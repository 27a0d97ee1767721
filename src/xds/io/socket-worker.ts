/** The thread of the sockets: a gRPC server whose calls are handed to the loop. Run by `socket-thread.ts`. */
import type { X509Certificate } from 'node:crypto';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { InvariantError } from '../../lib/errors.ts';
import type { LiveTls, TlsMaterial } from '../../lib/tls-files.ts';
import type { SocketCall } from './call.ts';
import { type GrpcServer, startGrpcServer } from './grpc-server.ts';
import { Inbox, Outbox, type Parcel } from './parcel.ts';
import { createReadLimit } from './read-limit.ts';
import type { FromSockets, SocketThreadData, ToSockets } from './socket-protocol.ts';

/** A call that the loop knows by its number. */
interface Known {
  readonly call: SocketCall;
  /** The loop takes its socket to be full: it was told so, or has sent something large. */
  full: boolean;
  /** Read since the last pause. */
  sinceBytes: number;
}

async function serve(port: MessagePort, { listen, paths, tls }: SocketThreadData): Promise<void> {
  const calls = new Map<number, Known>();
  const connections = new WeakMap<X509Certificate, number>();
  let lastConnection = 0;
  let lastCall = 0;
  const material = tls === undefined ? undefined : createLiveTls(tls);

  const outbox = new Outbox<FromSockets>({
    send: (parcel, moved) => port.postMessage(parcel, moved),
    // When all sockets of this turn have been read.
    plan: (flush) => setImmediate(flush),
  });
  const limit = createReadLimit({ mark: () => outbox.rare({ kind: 'mark' }) });

  function certificateOf({ certificate }: SocketCall) {
    if (certificate === undefined) return {};
    let connection = connections.get(certificate);
    if (connection === undefined) {
      lastConnection += 1;
      connection = lastConnection;
      connections.set(certificate, connection);
    }
    return { certificate: { connection, der: certificate.raw } };
  }

  function open(path: string, call: SocketCall): void {
    lastCall += 1;
    const number = lastCall;
    const known: Known = { call, full: false, sinceBytes: 0 };
    calls.set(number, known);
    outbox.rare({ kind: 'opened', call: number, path, peer: call.peer, ...certificateOf(call) });
    call.handle({
      message(bytes) {
        outbox.message(number, bytes.byteLength);
        outbox.put(bytes);
        if (limit.read(known, bytes.byteLength) === 'on') return;
        call.pause();
        outbox.rare({ kind: 'paused', call: number });
      },
      ended: () => outbox.rare({ kind: 'ended', call: number }),
      full() {
        if (!known.full) outbox.rare({ kind: 'full', call: number });
        known.full = true;
      },
      drained() {
        if (known.full) outbox.rare({ kind: 'drained', call: number });
        known.full = false;
      },
      closed() {
        calls.delete(number);
        outbox.rare({ kind: 'closed', call: number });
      },
    });
  }

  function writeLarge(known: Known, { call, pieces, sizeBytes }: Extract<ToSockets, { kind: 'large' }>): void {
    known.full = true;
    known.call.write(pieces, sizeBytes);
    if (known.call.isFull) return;
    known.full = false;
    outbox.rare({ kind: 'drained', call });
  }

  function hear(told: ToSockets): void {
    switch (told.kind) {
      case 'large': {
        const known = calls.get(told.call);
        if (known !== undefined) writeLarge(known, told);
        return;
      }
      case 'end':
        calls.get(told.call)?.call.end(told.code, told.words);
        return;
      case 'resume':
        calls.get(told.call)?.call.resume();
        return;
      case 'passed':
        limit.passed();
        return;
      case 'tls':
        material?.change(told.material);
        return;
      case 'stop':
        void server.stop().then(() => outbox.rare({ kind: 'stopped' }));
        return;
      case 'destroy':
        server.destroy();
    }
  }

  const inbox = new Inbox<ToSockets>({
    onMessage: (number, bytes) => calls.get(number)?.call.writeFramed(bytes),
    onRare: hear,
  });
  let server: GrpcServer;
  try {
    server = await startGrpcServer({
      methods: new Map(paths.map((path) => [path, (call) => open(path, call)])),
      listen,
      ...(material === undefined ? {} : { tls: material.live }),
      onHandshakeFailed: (peer, failure) => outbox.rare({ kind: 'handshakeFailed', peer, failure }),
    });
  } catch (error) {
    outbox.rare({ kind: 'refused', words: error instanceof Error ? error.message : String(error) });
    return;
  }
  outbox.rare({ kind: 'listening', port: server.port });
  port.on('message', (parcel: Parcel<ToSockets>) => inbox.take(parcel));
}

/** What the loop follows in the files, as it tells it. */
function createLiveTls(first: TlsMaterial) {
  let current = first;
  const listeners = new Set<(material: TlsMaterial) => void>();
  const live: LiveTls = {
    get current() {
      return current;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  return {
    live,
    change(material: TlsMaterial): void {
      current = material;
      for (const listener of listeners) listener(material);
    },
  };
}

if (parentPort === null) throw new InvariantError('socket-worker was not started as a worker thread');
await serve(parentPort, workerData as SocketThreadData);
