import { expect, test } from 'vitest';
import { admissionOf, convictionOf, foreignOf, happeningOf } from '../../../src/server/happenings.ts';
import type { Happening } from '../../../src/status/index.ts';
import { type Progress, typeUrls } from '../../../src/xds/index.ts';

const of = { streamId: '1', nodeId: 'lb-1', at: 0 } as const;
const node = { id: 'lb-1', cluster: 'edge', userAgent: 'envoy', version: '1.40.0' } as never;
const part = (unit: string) => ({ unit, generation: 1, hash: 'h' });
const blame = {
  type: typeUrls.cluster,
  name: 'default/web',
  hash: 'h',
  version: 'envoy 1.40.0',
  revision: 7,
  words: 'no such thing',
  parts: [part('BackendPool/default/web')],
  good: undefined,
};
const rejected = { ...of, ...blame, kind: 'rejected', scope: 'convicted' } as const;
const table = [part('Route/default/a'), part('Route/docs/b')];
const lb1 = 'Node/lb-1';
const cluster = typeUrls.cluster;

test.each<[string, Progress, Happening | undefined]>([
  [
    'a proxy that connects',
    { ...of, kind: 'opened', node, peer: '10.0.0.1:1', revision: 1 },
    { object: lb1, reason: 'ProxyConnected', message: 'version 1.40.0 of fleet edge connected' },
  ],
  [
    'a proxy that disconnects',
    { ...of, kind: 'closed' },
    { object: lb1, reason: 'ProxyDisconnected', message: 'its stream has ended' },
  ],
  [
    'a refusal that one object is at fault for',
    rejected,
    {
      object: 'BackendPool/default/web',
      reason: 'ConfigurationRejected',
      message: 'lb-1 refused Cluster default/web: no such thing',
    },
  ],
  [
    'a refusal that several may be at fault for',
    { ...rejected, parts: table },
    { object: lb1, reason: 'ConfigurationRejected', message: 'lb-1 refused Cluster default/web: no such thing' },
  ],
  [
    'a form that is withheld',
    { ...blame, kind: 'withheld', at: 0 },
    {
      object: 'BackendPool/default/web',
      reason: 'ConfigurationWithheld',
      message: 'Cluster default/web is not sent: envoy 1.40.0 refused this form before: no such thing',
    },
  ],
  [
    'a form of nobody that is withheld',
    { ...blame, kind: 'withheld', at: 0, parts: [] },
    {
      object: 'Controller/a',
      reason: 'ConfigurationWithheld',
      message: 'Cluster default/web is not sent: envoy 1.40.0 refused this form before: no such thing',
    },
  ],
  [
    'an answer that does not come',
    { ...of, kind: 'stalled', reason: 'answer', type: cluster, names: ['a', 'b'], missing: undefined },
    { object: lb1, reason: 'ProxyStalled', message: 'no answer for Cluster a, b' },
  ],
  [
    'something that never got ready',
    {
      ...of,
      kind: 'stalled',
      reason: 'needs',
      type: typeUrls.listener,
      names: ['l'],
      missing: { type: cluster, name: 'c' },
    },
    { object: lb1, reason: 'ProxyStalled', message: 'Listener l was sent though Cluster c is not ready' },
  ],
  ['what goes as it should', { ...of, kind: 'acked', revision: 1, sentAt: 0 }, undefined],
])('%s', (_, event, want) => {
  expect(happeningOf(event, 'a')).toEqual(want);
});

test.each([
  [2, 'generation 3 is held back, generation 2 goes on being served: bad'],
  [null, 'generation 3 is held back, nothing of it is served: bad'],
])('a conviction says what is served: %s', (good, message) => {
  const object = 'BackendPool/default/web';
  expect(convictionOf(object, { refused: 3, good, words: 'bad' })).toEqual({
    object,
    reason: 'ObjectConvicted',
    message,
  });
});

test('a secret that is none of its business is told of the proxy, and once for many', () => {
  const event = { ...of, kind: 'foreign', type: typeUrls.secret, name: 's', cluster: 'edge' } as const;
  const { particular, general } = foreignOf(event, '10.0.0.1:4711');
  const record = { who: { name: 'lb-1', kind: 'proxy' }, from: '10.0.0.1', code: 'Forbidden' };
  const words = 'it asked for Secret s, which fleet edge has none of';
  expect(particular).toEqual({
    happening: { object: lb1, reason: 'SecretRefused', message: words },
    record: { ...record, words },
  });
  const more = 'it asked for more secrets that fleet edge has none of';
  expect(general).toEqual({
    happening: { object: lb1, reason: 'SecretRefused', message: more },
    record: { ...record, words: more },
  });
});

test('whoever claims to be another is known by the certificate', () => {
  const identity = { nodeId: 'lb-1', cluster: 'edge' };
  const { particular, general } = admissionOf('[fd00::1]:1', { reason: 'denied', words: 'no', identity }, 'a');
  const record = { who: { name: 'lb-1', kind: 'proxy' }, from: 'fd00::1', code: 'Forbidden' };
  expect(particular).toEqual({
    happening: { object: lb1, reason: 'AdmissionRefused', message: 'fd00::1 is not let in: no' },
    record: { ...record, words: 'no' },
  });
  expect(general.record).toEqual({ ...record, words: 'with the certificate it claims to be many others' });
});

test.each([
  ['unauthenticated', 'Unauthenticated'],
  ['denied', 'Forbidden'],
] as const)('whoever is not known is told of the controller: %s', (reason, code) => {
  const { particular, general } = admissionOf('10.0.0.1:1', { reason, words: 'no' }, 'a');
  expect(particular).toEqual({
    happening: { object: 'Controller/a', reason: 'AdmissionRefused', message: '10.0.0.1 is not let in: no' },
    record: { who: { name: 'unknown', kind: 'certificate' }, from: '10.0.0.1', code, words: 'no' },
  });
  expect(general.record).toMatchObject({ from: 'several', words: 'more clients that are not known' });
});
