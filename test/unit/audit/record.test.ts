import { expect, test } from 'vitest';
import { type AuditSource, auditPut, auditRecord, auditTimeOf } from '../../../src/audit/index.ts';
import { type FairwayObject, objectKeyIn } from '../../../src/model/index.ts';
import { storeLimits } from '../../../src/store/index.ts';

const source: AuditSource = {
  who: { name: 'ada', kind: 'oidc' },
  from: '10.1.2.3',
  requestId: 'r-1',
  request: 'PUT /v1/scopes/:scope/backend-pools/:name',
};
const at = Date.UTC(2030, 0, 1);

function pool(name: string, spec: object): FairwayObject {
  const metadata = { name, scope: 'default', labels: {}, annotations: {} };
  return { apiVersion: 'fairway/v1', kind: 'BackendPool', metadata, spec } as unknown as FairwayObject;
}

const created = (name: string, spec: object) => ({
  key: `BackendPool/default/${name}`,
  before: undefined,
  after: pool(name, spec),
});

test('a record says who, from where, when, what, and what became of it', () => {
  const after = pool('web', { algorithm: 'random' });
  expect(auditRecord(source, at, [{ key: 'BackendPool/default/web', before: pool('web', {}), after }])).toEqual({
    at: '2030-01-01T00:00:00.000Z',
    ...source,
    outcome: 'accepted',
    objects: [
      {
        kind: 'BackendPool',
        scope: 'default',
        name: 'web',
        change: 'updated',
        fields: [{ path: '/spec/algorithm', after: 'random' }],
      },
    ],
  });
});

test('what is too large for it is left out and counted, and the rest is there', () => {
  const spec = { small: 1, large: 'x'.repeat(20_000), last: 2 };
  const [object] = auditRecord(source, at, [created('web', spec)]).objects;
  expect(object?.fields?.map(({ path }) => path)).toEqual(['/spec/small']);
  expect(object?.cut).toBe(2);
});

test('fifty objects of any size fit into one value of the store', () => {
  const objects = Array.from({ length: 50 }, (_, i) =>
    created(`p${i}`, Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`field${n}`, 'ü'.repeat(20)]))),
  );
  const { value } = auditPut(auditRecord(source, at, objects), 'id');
  expect(Buffer.byteLength(value)).toBeLessThan(storeLimits.valueBytes / 2);
});

test.each([
  ['accepted', 'auditWrite'],
  ['refused', 'auditRefusal'],
  ['failed', 'auditRefusal'],
] as const)('a record of what was %s has its own place, and its time in its key', (outcome, kind) => {
  const { key } = auditPut({ at: new Date(at).toISOString(), ...source, outcome, objects: [] }, 'some-id');
  const name = objectKeyIn(kind, key);
  expect(name).toBe('2030-01-01T00:00:00.000Z-some-id');
  expect(auditTimeOf(name ?? '')).toBe(at);
});
