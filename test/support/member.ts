/** A node of a control plane with mutual TLS, by hand: each step of it can be done wrong. */
import { ChannelCredentials } from '@grpc/grpc-js';
import { createKeyAndRequest, proveRenewal } from '../../src/lib/certificate-request.ts';
import { createLogger } from '../../src/telemetry/log.ts';
import { createDeltaClient, type DeltaClient, encodeNode, type TypeUrl, typeUrls } from '../../src/xds/index.ts';
import { connectDelta } from '../../src/xds/io/index.ts';
import type { Answer, TestFairway } from './fairway.ts';

/** What a node holds. PEM. */
export interface TestMember {
  readonly node: string;
  readonly fleet: string;
  readonly uid: string;
  readonly certificate: string;
  readonly ca: string;
  readonly key: string;
  readonly notAfter: string;
}

export async function tokenFor(fairway: TestFairway, node: string, fleet = 'edge', expiresIn = '1h'): Promise<string> {
  const { status, body } = await fairway.call('POST', '/v1/join-tokens', { node, fleet, expiresIn });
  if (status !== 201) throw new Error(`no token for ${node}: ${status} ${JSON.stringify(body)}`);
  return body.token;
}

export async function joinAs(fairway: TestFairway, node: string, fleet = 'edge'): Promise<TestMember> {
  const token = await tokenFor(fairway, node, fleet);
  const { key, request } = await createKeyAndRequest(node);
  const { status, body } = await fairway.call('POST', '/v1/join', { token, request });
  if (status !== 200) throw new Error(`${node} cannot join: ${status} ${JSON.stringify(body)}`);
  return { ...body, key };
}

/** Asks for the next certificate; `parts` replaces what a good request has. */
export async function renewAs(
  fairway: TestFairway,
  member: TestMember,
  parts: { certificate?: string; proof?: string } = {},
): Promise<Answer & { readonly member: TestMember }> {
  const { key, request } = await createKeyAndRequest(member.node);
  const proof = proveRenewal(member.key, request);
  const answer = await fairway.call('POST', '/v1/renew', { certificate: member.certificate, request, proof, ...parts });
  return { ...answer, member: { ...member, ...answer.body, key } };
}

export interface TestStream {
  readonly client: DeltaClient;
  /** How streams of it have ended so far. */
  readonly ends: { readonly code: number; readonly details: string }[];
  close(): void;
}

/** Connects with what a member holds, and says that it is `id` of `cluster`. */
export async function connectAs(
  fairway: TestFairway,
  member: TestMember,
  {
    id = member.node,
    cluster = member.fleet,
    subscribe = [[typeUrls.cluster, ['*']]],
    credentials = credentialsOf(member),
  }: {
    id?: string;
    cluster?: string;
    subscribe?: readonly (readonly [type: TypeUrl, names: readonly string[]])[];
    credentials?: ChannelCredentials;
  } = {},
): Promise<TestStream> {
  const client = createDeltaClient({ node: encodeNode({ id, cluster }) });
  for (const [type, names] of subscribe) client.subscribe(type, names);
  const ends: { code: number; details: string }[] = [];
  const connection = await connectDelta({
    client,
    // grpc-js sends the host of the address as server name, which must be no address.
    address: `localhost:${fairway.xdsPort}`,
    log: createLogger({ level: 'silent' }),
    random: Math.random,
    retry: { baseMs: 50, maxMs: 200 },
    credentials,
    onEnded: (end) => ends.push(end),
  });
  return { client, ends, close: () => connection.close() };
}

export function credentialsOf({ ca, key, certificate }: Pick<TestMember, 'ca' | 'key' | 'certificate'>) {
  return ChannelCredentials.createSsl(Buffer.from(ca), Buffer.from(key), Buffer.from(certificate));
}
