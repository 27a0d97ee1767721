import { ChannelCredentials, status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AuditRecord } from '../../src/audit/index.ts';
import { createKeyAndRequest } from '../../src/lib/certificate-request.ts';
import { encodeNode, typeUrls } from '../../src/xds/index.ts';
import { encodeDeltaRequest } from '../../src/xds/wire.ts';
import { startFairway, type TestFairway } from '../support/fairway.ts';
import { connectAs, credentialsOf, joinAs, renewAs, type TestStream, tokenFor } from '../support/member.ts';
import { adsPath, rawClient } from '../support/raw-grpc.ts';
import { until } from '../support/until.ts';

// What requests write beside objects is in the audit, too, with whoever is let in or not: tokens, joins, certificates.

let fairway: TestFairway;
const streams: TestStream[] = [];

beforeAll(async () => {
  fairway = await startFairway({ config: { xdsTls: 'own' } });
  await fairway.put({ kind: 'Fleet', metadata: { name: 'edge' }, spec: {} });
});
afterAll(async () => {
  for (const stream of streams) stream.close();
  await fairway?.close();
});

async function records(query: string): Promise<AuditRecord[]> {
  return (await fairway.call('GET', `/v1/audit?${query}`)).body.items;
}

async function recorded(query: string): Promise<AuditRecord> {
  const [record] = await until(`a record of ${query}`, async () => {
    const found = await records(query);
    return found.length > 0 && found;
  });
  return record as AuditRecord;
}

interface Told {
  readonly object: object;
  readonly message: string;
  readonly count: number;
}

async function happened(reason: string): Promise<Told[]> {
  return (await fairway.call('GET', `/v1/events?reason=${reason}`)).body.items;
}

const changesOf = ({ objects }: AuditRecord) => objects.map(({ kind, name, change }) => `${kind} ${name} ${change}`);

describe('a request that writes no object of an operator', () => {
  it('leaves a record of a token that was made or taken back, without what it is', async () => {
    const token = await tokenFor(fairway, 'edge-1');
    const made = await recorded('kind=JoinToken');
    const id = made.objects[0]?.name ?? '';
    expect(changesOf(made)).toEqual([`JoinToken ${id} created`]);
    expect(made).toMatchObject({ request: 'POST /v1/join-tokens', outcome: 'accepted', from: '127.0.0.1' });
    const [, , secret = 'none'] = token.split('.');
    expect(JSON.stringify(made)).not.toContain(secret);
    expect(fairway.logged()).not.toContain(secret);
    const { headers } = await fairway.call('DELETE', `/v1/join-tokens/${id}`);
    expect(changesOf(await recorded(`requestId=${headers.get('x-request-id')}`))).toEqual([`JoinToken ${id} deleted`]);
  });

  it('leaves one of a node that joins, renews and is deleted', async () => {
    const member = await joinAs(fairway, 'edge-2');
    const joined = await recorded('kind=Node&name=edge-2');
    expect(joined.request).toBe('POST /v1/join');
    expect(changesOf(joined)).toEqual(
      expect.arrayContaining(['Node edge-2 created', 'NodeCertificate edge-2 updated']),
    );
    await until('the event', async () => (await happened('NodeRegistered')).length > 0);
    expect(await happened('NodeRegistered')).toMatchObject([
      { object: { kind: 'Node', name: 'edge-2' }, message: 'it joined fleet edge' },
    ]);
    const { headers } = await renewAs(fairway, member);
    expect(changesOf(await recorded(`requestId=${headers.get('x-request-id')}`))).toEqual([
      'NodeCertificate edge-2 updated',
    ]);
    await fairway.call('DELETE', '/v1/nodes/edge-2');
    // One record of one commit: that of the writer, and no second one.
    expect((await records('kind=Node&name=edge-2')).map((record) => record.request)).toEqual([
      'DELETE /v1/nodes/:name',
      'POST /v1/join',
    ]);
  });

  it('leaves one of a rotation that is begun', async () => {
    expect((await fairway.call('POST', '/v1/ca/rotation')).status).toBe(202);
    expect(changesOf(await recorded('kind=Authority'))).toEqual(['Authority nodes updated']);
  });
});

describe('whoever is not let in', () => {
  it('with a wrong token is on record', async () => {
    const { request } = await createKeyAndRequest('edge-3');
    const token = (await tokenFor(fairway, 'edge-3')).replace(/[^.]{43}/, 'a'.repeat(43));
    expect((await fairway.call('POST', '/v1/join', { token, request })).status).toBe(401);
    expect(await recorded('outcome=refused')).toMatchObject({
      request: 'POST /v1/join',
      code: 'Unauthenticated',
      from: '127.0.0.1',
    });
  });

  it('with the certificate of a node that was deleted is on record, and is an event', async () => {
    const member = await joinAs(fairway, 'gone-1');
    await fairway.call('DELETE', '/v1/nodes/gone-1');
    const stream = await connectAs(fairway, member);
    streams.push(stream);
    await until('it to be refused some times', () => stream.ends.length >= 3);
    const words = 'the node gone-1 of this certificate was deleted';
    const record = await recorded('who=unknown&outcome=refused');
    expect(record).toMatchObject({ request: 'xDS stream', code: 'Forbidden', from: '127.0.0.1', detail: words });
    expect(await records('who=unknown')).toHaveLength(1);
    await until('the event', async () => (await happened('AdmissionRefused')).length > 0);
    expect(await happened('AdmissionRefused')).toMatchObject([
      { object: { kind: 'Controller' }, message: `127.0.0.1 is not let in: ${words}` },
    ]);
  });

  it('as another node or of another fleet is on record under the name of its certificate, and is an event', async () => {
    const member = await joinAs(fairway, 'liar-1');
    const claims = [
      [{ id: 'edge-2' }, 'the certificate is that of the node liar-1, not of edge-2'],
      [{ cluster: 'core' }, 'the certificate is for the fleet edge, not for core'],
    ] as const;
    for (const [claim] of claims) {
      const stream = await connectAs(fairway, member, claim);
      await until('it to be refused some times', () => stream.ends.length >= 3);
      stream.close();
    }
    const words = claims.map(([, text]) => text);
    await until('both records', async () => (await records('who=liar-1')).length === 2);
    expect(await records('who=liar-1')).toMatchObject(
      words.toReversed().map((detail) => ({
        who: { name: 'liar-1', kind: 'proxy' },
        from: '127.0.0.1',
        request: 'xDS stream',
        outcome: 'refused',
        code: 'Forbidden',
        detail,
      })),
    );
    const told = () => happened('AdmissionRefused&name=liar-1');
    await until('both events', async () => (await told()).length === 2);
    const node = { kind: 'Node', name: 'liar-1' };
    expect(new Map((await told()).map(({ message, object }) => [message, object]))).toEqual(
      new Map(words.map((text) => [`127.0.0.1 is not let in: ${text}`, node])),
    );
    const counted = await until('the repeats', async () => {
      const events = await told();
      return events.every(({ count }) => count >= 3) && events;
    });
    expect(counted).toHaveLength(2);
  });

  it('as ever another is told a few times by itself, and then in one word', async () => {
    const member = await joinAs(fairway, 'liar-2');
    const { ca, certificate: cert, key } = member;
    const client = rawClient(`localhost:${fairway.xdsPort}`, { ca, cert, key });
    for (let n = 0; n < 200; n += 1) {
      const call = client.call(adsPath);
      const node = encodeNode({ id: `other-${n}`, cluster: 'edge' });
      call.send(encodeDeltaRequest({ typeUrl: typeUrls.cluster, subscribe: ['*'], node }));
      expect((await call.ended).code).toBe(status.PERMISSION_DENIED);
    }
    client.close();
    const told = () => happened('AdmissionRefused&name=liar-2');
    const general = 'with the certificate it claims to be many others';
    await until('the last of it', async () => (await told()).some(({ message }) => message.endsWith(general)));
    const kept = await until('all', async () => {
      const events = await told();
      return events.reduce((sum, { count }) => sum + count, 0) === 200 && events;
    });
    expect(kept).toHaveLength(21);
    expect((await records('who=liar-2')).length).toBeLessThanOrEqual(21);
  });

  it('without a certificate, or with one of another authority, is on record', async () => {
    const member = await joinAs(fairway, 'forged-1');
    const other = await startFairway({ config: { xdsTls: 'own' } });
    const { certificate, key } = await joinAs(other, 'forged-1');
    await other.close();
    for (const [credentials, words] of [
      [ChannelCredentials.createSsl(Buffer.from(member.ca)), 'there is no client certificate'],
      [
        credentialsOf({ ca: member.ca, certificate, key }),
        'its certificate is not good: UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      ],
    ] as const) {
      const stream = await connectAs(fairway, member, { credentials });
      const detail = async () => (await records('who=unknown&outcome=refused')).map((record) => record.detail);
      await until(`a record: ${words}`, async () => (await detail()).includes(words));
      stream.close();
    }
  });
});
