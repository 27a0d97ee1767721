/**
 * The gRPC server on a thread of its own: TLS, HTTP/2 and the kernel's part of each message, which at a thousand
 * connections are more work than all that is decided about what they carry. The loop, where the API is served too,
 * gives and takes messages alone.
 */
import { X509Certificate } from 'node:crypto';
import type { Worker } from 'node:worker_threads';
import { InvariantError } from '../../lib/errors.ts';
import { startThread } from '../../lib/thread.ts';
import { FarCall } from './far-call.ts';
import type { GrpcServer, GrpcServerOptions } from './grpc-server.ts';
import { Inbox, Outbox, type Parcel } from './parcel.ts';
import type { FromSockets, SocketThreadData, ToSockets } from './socket-protocol.ts';

/** What is young on the thread is gone after one message: more room for it would only be more memory. */
const youngMiB = 6;

type Opened = Extract<FromSockets, { kind: 'opened' }>;

/** As `startGrpcServer`. A fault of the thread is one of the process. */
export async function startSocketThread(options: GrpcServerOptions): Promise<GrpcServer> {
  const { methods, listen, tls } = options;
  const data: SocketThreadData = {
    listen,
    paths: [...methods.keys()],
    ...(tls === undefined ? {} : { tls: tls.current }),
  };
  const worker = startThread({
    file: './socket-worker',
    from: import.meta.url,
    name: 'xds sockets',
    data,
    limits: { maxYoungGenerationSizeMb: youngMiB },
  });
  const calls = new Map<number, { readonly call: FarCall; readonly connection: number | undefined }>();
  const certificates = createCertificates();
  const listening = Promise.withResolvers<number>();
  const stopped = Promise.withResolvers<void>();

  const outbox = new Outbox<ToSockets>({
    send: (parcel, moved) => worker.postMessage(parcel, moved),
    // After the work of this turn, which is a slice of what is written to many.
    plan: (flush) => queueMicrotask(flush),
  });

  function open({ call, path, peer, certificate }: Opened): void {
    const take = methods.get(path);
    if (take === undefined) throw new InvariantError(`the thread of the sockets has taken a call of ${path}`);
    const far = new FarCall({
      call,
      peer,
      certificate: certificate === undefined ? undefined : certificates.add(certificate),
      outbox,
    });
    calls.set(call, { call: far, connection: certificate?.connection });
    take(far);
  }

  function close(number: number): void {
    const known = calls.get(number);
    if (known === undefined) return;
    calls.delete(number);
    if (known.connection !== undefined) certificates.remove(known.connection);
    known.call.closed();
  }

  function hear(told: FromSockets): void {
    switch (told.kind) {
      case 'listening':
        listening.resolve(told.port);
        return;
      case 'refused':
        listening.reject(new Error(told.words));
        return;
      case 'opened':
        open(told);
        return;
      case 'closed':
        close(told.call);
        return;
      case 'paused':
        outbox.rare({ kind: 'resume', call: told.call });
        return;
      case 'mark':
        outbox.rare({ kind: 'passed' });
        return;
      case 'handshakeFailed':
        options.onHandshakeFailed?.(told.peer, told.failure);
        return;
      case 'stopped':
        stopped.resolve();
        return;
      default:
        calls.get(told.call)?.call.told(told.kind);
    }
  }

  const inbox = new Inbox<FromSockets>({
    onMessage: (number, bytes) => calls.get(number)?.call.message(bytes),
    onRare: hear,
  });
  worker.on('message', (parcel: Parcel<FromSockets>) => inbox.take(parcel));

  const unfollow = tls?.onChange((material) => outbox.rare({ kind: 'tls', material }));
  const port = await startOf(worker, listening.promise);
  return {
    port,
    async stop() {
      unfollow?.();
      outbox.rare({ kind: 'stop' });
      await stopped.promise;
      await worker.terminate();
    },
    destroy() {
      outbox.rare({ kind: 'destroy' });
    },
  };
}

/** Waits until the thread listens. From then on, that it fails is an error that nobody catches. */
async function startOf(worker: Worker, listening: Promise<number>): Promise<number> {
  const failed = Promise.withResolvers<never>();
  worker.once('error', failed.reject);
  try {
    return await Promise.race([listening, failed.promise]);
  } catch (error) {
    await worker.terminate();
    throw error;
  } finally {
    worker.off('error', failed.reject);
  }
}

/** Each certificate is read once for its connection, as long as that has calls. */
function createCertificates() {
  const known = new Map<number, { readonly certificate: X509Certificate; calls: number }>();
  return {
    add({ connection, der }: NonNullable<Opened['certificate']>): X509Certificate {
      const found = known.get(connection) ?? { certificate: new X509Certificate(der), calls: 0 };
      known.set(connection, found);
      found.calls += 1;
      return found.certificate;
    },
    remove(connection: number): void {
      const found = known.get(connection);
      if (found === undefined) return;
      found.calls -= 1;
      if (found.calls === 0) known.delete(connection);
    },
  };
}
