/**
 * Clients that all connect at once, each with a certificate of its own, in a process of their own: an xDS stream up to
 * its first response, or one request of the REST API. Driven by bench/scenarios/handshakes.ts, by lines of JSON.
 */
import { readFileSync } from 'node:fs';
import { connect } from 'node:http2';
import { Agent, get } from 'node:https';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createSecureContext } from 'node:tls';
import { createDeltaClient, encodeNode, typeUrls } from '../src/xds/index.ts';
import { MessageReader, prefixBytes } from '../src/xds/io/message-reader.ts';
import { type ClientFiles, files, fleet } from './handshake-files.ts';

const [folder = ''] = process.argv.slice(2);
const ca = readFileSync(join(folder, files.ca));
const clients = (JSON.parse(readFileSync(join(folder, files.clients), 'utf8')) as ClientFiles[]).map(
  // What it costs to read a key is none of the server's business.
  ({ node, cert, key }) => ({ node, secureContext: createSecureContext({ cert, key, ca }) }),
);
const maxMessageBytes = 1_000_000;
type Client = (typeof clients)[number];

const method = '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources';

function framed(bytes: Uint8Array): Buffer {
  const head = Buffer.alloc(prefixBytes);
  head.writeUInt32BE(bytes.byteLength, 1);
  return Buffer.concat([head, bytes]);
}

/** Resolves at the first response, with the function that ends it; answers as an Envoy does that is sent nothing. */
function stream({ node, secureContext }: Client, address: string): Promise<() => void> {
  const client = createDeltaClient({ node: encodeNode({ id: node, cluster: fleet }) });
  for (const type of [typeUrls.cluster, typeUrls.listener]) client.subscribe(type, ['*']);
  const messages = new MessageReader(maxMessageBytes);
  return new Promise((resolve, reject) => {
    const session = connect(`https://${address}`, { secureContext, ca });
    session.once('error', reject);
    const headers = { ':method': 'POST', ':path': method, 'content-type': 'application/grpc', te: 'trailers' };
    const call = session.request(headers);
    call.once('error', reject);
    call.once('end', () => reject(new Error(`the stream of ${node} has ended`)));
    call.on('data', (chunk: Buffer) => {
      messages.take(chunk, (bytes) => {
        // The bare server says nothing.
        if (bytes.byteLength > 0) for (const answer of client.receive(bytes).requests) call.write(framed(answer));
      });
      resolve(() => session.destroy());
    });
    for (const opening of client.connect()) call.write(framed(opening));
  });
}

function request({ secureContext }: Client, address: string): Promise<() => void> {
  const agent = new Agent({ secureContext, keepAlive: true });
  return new Promise((resolve, reject) => {
    get(`https://${address}/healthz`, { agent }, (answer) => {
      answer.resume();
      answer.once('end', () => resolve(() => agent.destroy()));
    }).once('error', reject);
  });
}

const doors = { stream, request } as const;

createInterface({ input: process.stdin }).on('line', async (line) => {
  const { door, address } = JSON.parse(line) as { readonly door: keyof typeof doors; readonly address: string };
  const from = performance.now();
  const ends = await Promise.all(clients.map((client) => doors[door](client, address)));
  console.log(JSON.stringify({ event: 'connected', ms: performance.now() - from }));
  for (const end of ends) end();
});
console.log(JSON.stringify({ event: 'ready' }));
