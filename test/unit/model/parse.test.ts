import { describe, expect, test } from 'vitest';
import { kindNames, namesOfKinds, type ParseContext, parseObject } from '../../../src/model/index.ts';
import { objectWith, samples } from './samples.ts';

function faultsOf(input: unknown, context: ParseContext = {}): readonly (readonly [string, string])[] {
  const result = parseObject(input, context);
  return result.ok ? [] : result.error.map(({ pointer, message }) => [pointer, message] as const);
}

test.each(kindNames)('%s: every field is accepted, and what was written comes back', (kind) => {
  expect(parseObject(objectWith(kind))).toEqual({
    ok: true,
    value: {
      apiVersion: 'fairway/v1',
      kind,
      metadata: {
        name: 'sample',
        ...(namesOfKinds[kind].global ? {} : { scope: 'default' }),
        labels: {},
        annotations: {},
      },
      spec: samples[kind],
    },
  });
});

test('what Fairway writes is ignored on input', () => {
  const written = {
    name: 'web',
    scope: 'team-a',
    uid: 7,
    generation: 'x',
    revision: '5',
    createdRevision: null,
    createdAt: 'yesterday',
    deletedAt: '',
    source: [],
  };
  const input = { ...objectWith('BackendPool', {}, written), status: { conditions: 'none' } };
  expect(parseObject(input)).toEqual({
    ok: true,
    value: {
      apiVersion: 'fairway/v1',
      kind: 'BackendPool',
      metadata: { name: 'web', scope: 'team-a', labels: {}, annotations: {} },
      spec: {},
    },
  });
});

describe('what the caller knows is filled in', () => {
  test.each<[string, unknown, ParseContext, unknown]>([
    ['kind, name and scope', {}, { kind: 'BackendPool', name: 'web', scope: 'a' }, { name: 'web', scope: 'a' }],
    [
      'a scope to default to',
      { metadata: { name: 'web' } },
      { kind: 'BackendPool', defaultScope: 'b' },
      { name: 'web', scope: 'b' },
    ],
    [
      'another scope than the default',
      { metadata: { name: 'web', scope: 'c' } },
      { kind: 'BackendPool', defaultScope: 'b' },
      { name: 'web', scope: 'c' },
    ],
    ['no scope for global kinds', {}, { kind: 'Fleet', name: 'edge', defaultScope: 'b' }, { name: 'edge' }],
  ])('%s', (_, input, context, metadata) => {
    expect(parseObject(input, context)).toMatchObject({
      ok: true,
      value: { metadata: { ...(metadata as object), labels: {} } },
    });
  });

  test.each<[string, unknown, ParseContext, string]>([
    ['another kind', objectWith('Fleet', {}), { kind: 'BackendPool' }, '/kind'],
    ['another name', objectWith('Fleet', {}), { kind: 'Fleet', name: 'other' }, '/metadata/name'],
    [
      'another scope',
      objectWith('Route', samples.Route, { name: 'a', scope: 'b' }),
      { kind: 'Route', scope: 'c' },
      '/metadata/scope',
    ],
  ])('%s is refused', (_, input, context, pointer) => {
    expect(faultsOf(input, context)).toEqual([[pointer, expect.stringMatching(/^must be /)]]);
  });
});

describe('the frame of an object', () => {
  const long = 'a'.repeat(64);
  test.each<[string, unknown, readonly (readonly [string, RegExp])[]]>([
    ['null', null, [['', /must be an object/]]],
    ['a text', 'kind: Fleet', [['', /must be an object/]]],
    ['a list', [], [['', /must be an object/]]],
    ['no kind', { apiVersion: 'fairway/v1' }, [['/kind', /is required: one of Scope, /]]],
    ['a kind that is no text', { kind: 5 }, [['/kind', /must be a text/]]],
    ['a kind misspelt', { kind: 'VirtualServise' }, [['/kind', /did you mean `VirtualService`\?/]]],
    ['a kind of others', { kind: 'Deployment' }, [['/kind', /the kinds are Scope, /]]],
    ['no apiVersion', { kind: 'Fleet', metadata: { name: 'a' } }, [['/apiVersion', /is required/]]],
    [
      'another apiVersion',
      { ...objectWith('Fleet'), apiVersion: 'v1' },
      [['/apiVersion', /must be "fairway\/v1", not the text "v1"/]],
    ],
    ['no name', objectWith('Fleet', {}, {}), [['/metadata/name', /is required/]]],
    ['metadata that is a text', objectWith('Fleet', {}, 'x'), [['/metadata', /must be an object, not the text "x"/]]],
    ['a name with capitals', objectWith('Fleet', {}, { name: 'Edge' }), [['/metadata/name', /lower-case.*not "Edge"/]]],
    ['a name with a dot', objectWith('Fleet', {}, { name: 'a.b' }), [['/metadata/name', /must be a name/]]],
    ['a name that ends with a dash', objectWith('Fleet', {}, { name: 'a-' }), [['/metadata/name', /must be a name/]]],
    ['a name too long', objectWith('Fleet', {}, { name: long }), [['/metadata/name', /at most 63/]]],
    ['an empty name', objectWith('Fleet', {}, { name: '' }), [['/metadata/name', /must be a name/]]],
    [
      'a scope of a global kind',
      objectWith('Fleet', {}, { name: 'a', scope: 'b' }),
      [['/metadata/scope', /a Fleet belongs to no scope/]],
    ],
    [
      'a wrong scope',
      objectWith('Route', samples.Route, { name: 'a', scope: 'a/b' }),
      [['/metadata/scope', /must be a name/]],
    ],
    ['a field misspelt', { ...objectWith('Fleet'), specs: {} }, [['/specs', /did you mean `spec`\?/]]],
    [
      'a field of metadata misspelt',
      objectWith('Fleet', {}, { name: 'a', label: {} }),
      [['/metadata/label', /did you mean `labels`\?/]],
    ],
    [
      'labels that are a list',
      objectWith('Fleet', {}, { name: 'a', labels: ['b'] }),
      [['/metadata/labels', /must be an object, not a list/]],
    ],
    [
      'a label that is a number',
      objectWith('Fleet', {}, { name: 'a', labels: { n: 1 } }),
      [['/metadata/labels/n', /must be a text, not the number 1; put it in quotes/]],
    ],
    [
      'a label with a blank',
      objectWith('Fleet', {}, { name: 'a', labels: { n: 'a b' } }),
      [['/metadata/labels/n', /at most 63 letters/]],
    ],
    [
      'a label too long',
      objectWith('Fleet', {}, { name: 'a', labels: { n: long } }),
      [['/metadata/labels/n', /at most 63 characters, not 64/]],
    ],
    [
      'a label name with a slash too many',
      objectWith('Fleet', {}, { name: 'a', labels: { 'a/b/c': '' } }),
      [['/metadata/labels/a~1b~1c', /its name must be/]],
    ],
    [
      'a label name that is a prefix alone',
      objectWith('Fleet', {}, { name: 'a', labels: { 'a/': '' } }),
      [['/metadata/labels/a~1', /its name must be/]],
    ],
    [
      'a label prefix that is no DNS name',
      objectWith('Fleet', {}, { name: 'a', labels: { '-a/b': '' } }),
      [['/metadata/labels/-a~1b', /its name must have a DNS name/]],
    ],
    [
      'an annotation with NUL',
      objectWith('Fleet', {}, { name: 'a', annotations: { n: '\0' } }),
      [['/metadata/annotations/n', /NUL/]],
    ],
    [
      'half a surrogate pair',
      objectWith('Fleet', {}, { name: 'a', annotations: { n: '\ud800' } }),
      [['/metadata/annotations/n', /valid Unicode/]],
    ],
    [
      'too many labels',
      objectWith(
        'Fleet',
        {},
        { name: 'a', labels: Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`l${i}`, ''])) },
      ),
      [['/metadata/labels', /at most 64 entries, not 65/]],
    ],
    ['a spec that is null', objectWith('Fleet', null), [['/spec', /must be an object, not null/]]],
    [
      'a prototype as label',
      objectWith('Fleet', {}, { name: 'a', labels: JSON.parse('{"__proto__": "x"}') }),
      [['/metadata/labels/__proto__', /is not accepted/]],
    ],
    [
      'a prototype as field',
      objectWith('Fleet', JSON.parse('{"__proto__": {"ha": "everyNode"}}')),
      [['/spec/__proto__', /is not a field here/]],
    ],
    [
      'a method of all objects as field',
      objectWith('Fleet', { toString: 'x' }),
      [['/spec/toString', /is not a field here/]],
    ],
    ['a field of the empty spec', objectWith('Scope', { a: 1 }), [['/spec/a', /there is none/]]],
  ])('%s', (_, input, want) => {
    const faults = faultsOf(input);
    expect(faults.map(([pointer]) => pointer)).toEqual(want.map(([pointer]) => pointer));
    for (const [i, [, message]] of want.entries()) expect(faults[i]?.[1]).toMatch(message);
  });
});

test('many errors are cut off', () => {
  const members = Array.from({ length: 2000 }, () => ({ address: 1, port: 0, wait: 1 }));
  expect(faultsOf(objectWith('BackendPool', { members }))).toHaveLength(50);
});

test('no message quotes a key, wherever it was put', () => {
  const body = 'MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQ';
  const key = `-----BEGIN PRIVATE KEY-----\n${body}\n-----END PRIVATE KEY-----\n`;
  const inputs = [
    objectWith('Certificate', { chain: samples.Certificate.chain, key: { pem: key } }),
    objectWith('Certificate', { chain: samples.Certificate.chain, key: [key] }),
    objectWith('Certificate', { chain: samples.Certificate.chain, key: body }),
    objectWith('Certificate', { ca: samples.Certificate.chain, key }),
    objectWith('Certificate', { chain: key, ca: key, key }),
    objectWith('Certificate', { keys: key }),
    objectWith('Certificate', { chain: samples.Certificate.chain, key: `${key}${'A'.repeat(20_000)}` }),
    objectWith('Certificate', key),
    objectWith('Certificate', { chain: samples.Certificate.chain, key }, { name: key }),
    objectWith('Certificate', { chain: samples.Certificate.chain, key }, { name: 'a', labels: { key } }),
    objectWith('Certificate', { chain: samples.Certificate.chain, allowedScopes: [key] }),
  ];
  for (const input of inputs) {
    const text = JSON.stringify(faultsOf(input));
    expect(text).not.toBe('[]');
    expect(text).not.toContain(body.slice(0, 12));
  }
});
