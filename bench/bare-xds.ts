/**
 * The least that fills an Envoy over delta ADS: a process that holds prepared resources, answers what is asked for, and
 * sends what is new at once and all together. It decides nothing, waits for nothing and checks nothing, so what it takes
 * is what Envoy and the wire take. Driven by `startBareXds`.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js';
import { type Resource, typeUrls } from '../src/xds/index.ts';
import { decodeDeltaRequest, frameResponse, joinFrame, resourceHead, responseHead } from '../src/xds/wire.ts';

type Prepared = Pick<Resource, 'type' | 'name' | 'bytes'>;

type Order = { readonly kind: 'fill' | 'prepare'; readonly resources: readonly Prepared[] } | { readonly kind: 'send' };

export interface BareXds {
  readonly port: number;
  /** Takes in what comes next, without sending it. */
  prepare(resources: readonly Prepared[]): Promise<void>;
  /** Sends what was prepared. */
  send(): void;
  stop(): Promise<void>;
}

export async function startBareXds(resources: readonly Prepared[]): Promise<BareXds> {
  const child = fork(fileURLToPath(import.meta.url), ['serve'], { serialization: 'advanced' });
  const ended = once(child, 'exit');
  // Ends whoever waits for an answer that cannot come any more.
  const gone = ended.then(([code, signal]) => Promise.reject(new Error(`it ended with ${code ?? signal}`)));
  gone.catch(() => undefined);
  const give = async (order: Order): Promise<number> => {
    child.send(order);
    const [answer] = await Promise.race([once(child, 'message'), gone]);
    return answer as number;
  };
  const port = await give({ kind: 'fill', resources: resources.map(plain) });
  return {
    port,
    prepare: async (next) => void (await give({ kind: 'prepare', resources: next.map(plain) })),
    send: () => void child.send({ kind: 'send' } satisfies Order),
    async stop() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

const plain = ({ type, name, bytes }: Prepared): Prepared => ({ type, name, bytes });

/** Envoy asks for these without names; what is new of the others it asks for when it has what names them. */
const wildcards: ReadonlySet<string> = new Set([typeUrls.cluster, typeUrls.listener]);
const unasked: ReadonlySet<string> = new Set([...wildcards, typeUrls.route]);

function serve(): void {
  const table = new Map<string, Map<string, Uint8Array>>();
  const calls = new Set<ServerDuplexStream<Buffer, Buffer>>();
  let prepared: readonly Prepared[] = [];
  let sent = 0;

  function take(resources: readonly Prepared[]): void {
    for (const { type, name, bytes } of resources) {
      const byName = table.get(type) ?? new Map<string, Uint8Array>();
      table.set(type, byName.set(name, bytes));
    }
  }

  function write(call: ServerDuplexStream<Buffer, Buffer>, typeUrl: string, resources: readonly Uint8Array[]): void {
    sent += 1;
    const head = responseHead({ typeUrl, systemVersion: String(sent), controlPlane: 'bare' });
    const chunks = resources.flatMap((bytes) => [resourceHead(bytes.byteLength), bytes]);
    call.write(Buffer.from(joinFrame(frameResponse(head, { nonce: String(sent), removed: [] }, chunks))));
  }

  function accept(call: ServerDuplexStream<Buffer, Buffer>): void {
    const asked = new Set<string>();
    calls.add(call);
    call.on('close', () => calls.delete(call));
    call.on('error', () => calls.delete(call));
    call.on('data', (bytes: Buffer) => {
      const request = decodeDeltaRequest(bytes);
      if (!request.ok) throw new Error(request.error);
      const { typeUrl, subscribe } = request.value;
      const byName = table.get(typeUrl) ?? new Map<string, Uint8Array>();
      const all = wildcards.has(typeUrl) && !asked.has(typeUrl);
      asked.add(typeUrl);
      if (all) write(call, typeUrl, [...byName.values()]);
      else if (subscribe.length > 0)
        write(
          call,
          typeUrl,
          subscribe.flatMap((name) => byName.get(name) ?? []),
        );
    });
  }

  const pass = (bytes: Buffer): Buffer => bytes;
  const server = new Server({ 'grpc.max_receive_message_length': -1 });
  server.addService(
    {
      deltaAggregatedResources: {
        path: '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources',
        requestStream: true,
        responseStream: true,
        requestSerialize: pass,
        requestDeserialize: pass,
        responseSerialize: pass,
        responseDeserialize: pass,
      },
    },
    { deltaAggregatedResources: accept },
  );
  process.on('message', (order: Order) => {
    if (order.kind === 'send') {
      for (const call of calls) {
        for (const { type, bytes } of prepared) if (unasked.has(type)) write(call, type, [bytes]);
      }
      return;
    }
    // The table first: Envoy asks for the endpoints as soon as it has the cluster.
    take(order.resources);
    prepared = order.resources;
    if (order.kind === 'prepare') process.send?.(0);
    else server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (_error, port) => process.send?.(port));
  });
  process.on('disconnect', () => process.exit(0));
}

if (process.argv[2] === 'serve') serve();
