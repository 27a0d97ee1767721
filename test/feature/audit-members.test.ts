import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AuditRecord } from '../../src/audit/index.ts';
import { createKeyAndRequest } from '../../src/lib/certificate-request.ts';
import { startFairway, type TestFairway } from '../support/fairway.ts';
import { connectAs, joinAs, renewAs, type TestStream, tokenFor } from '../support/member.ts';
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

async function happened(reason: string): Promise<{ readonly object: object; readonly message: string }[]> {
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
});
