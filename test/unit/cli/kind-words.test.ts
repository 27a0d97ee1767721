import { describe, expect, it } from 'vitest';
import { columnsFor } from '../../../src/cli/columns.ts';
import { CliError } from '../../../src/cli/failure.ts';
import { kindWords, parseTargets, resolveKind, singular } from '../../../src/cli/kind-words.ts';
import { effectiveBackendPool, kindInfo, kindNames } from '../../../src/model/index.ts';
import { namesOfKinds } from '../../../src/model/kind.ts';

describe('resolveKind', () => {
  it.each([
    ['vs', 'VirtualService'],
    ['virtual-services', 'VirtualService'],
    ['virtual-service', 'VirtualService'],
    ['VirtualService', 'VirtualService'],
    ['virtualservices', 'VirtualService'],
    ['pool', 'BackendPool'],
    ['pools', 'BackendPool'],
    ['CERT', 'Certificate'],
    ['no', 'Node'],
    ['fleet', 'Fleet'],
  ])('%s is %s', (word, want) => {
    expect(resolveKind(word)).toBe(want);
  });

  it.each([
    ['vrtual-service', 'virtual-service'],
    ['certs-', 'certs'],
    ['rout', 'route'],
  ])('asks about %s whether %s was meant', (word, near) => {
    expect(() => resolveKind(word)).toThrow(expect.objectContaining({ hint: `Did you mean "${near}"?`, exitCode: 2 }));
  });

  it('lists the kinds when nothing is near', () => {
    expect(() => resolveKind('elephants')).toThrow(
      expect.objectContaining({ hint: expect.stringContaining('virtual-services/vs') }),
    );
  });

  it('never takes one word for two kinds', () => {
    const words = kindNames.flatMap((kind) => [...new Set(kindWords(kind))]);
    expect(words).toEqual([...new Set(words)]);
  });
});

describe('parseTargets', () => {
  const cases: readonly [words: readonly string[], want: readonly string[]][] = [
    [['vs'], ['VirtualService']],
    [['vs,pool'], ['VirtualService', 'BackendPool']],
    [
      ['vs', 'a', 'b'],
      ['VirtualService a', 'VirtualService b'],
    ],
    [
      ['vs/a', 'pool/b'],
      ['VirtualService a', 'BackendPool b'],
    ],
  ];
  it.each(cases)('%j', (words, want) => {
    expect(parseTargets(words).map(({ kind, name }) => (name === undefined ? kind : `${kind} ${name}`))).toEqual(want);
  });

  it.each([[[]], [['vs/a', 'b']], [['vs/']], [['vs/a/b']]])('refuses %j', (words) => {
    expect(() => parseTargets(words)).toThrow(CliError);
  });
});

describe('the names of kinds', () => {
  it('are those of the model', () => {
    for (const kind of kindNames) expect(kindInfo(kind)).toMatchObject(namesOfKinds[kind]);
  });
  it('have a singular that stands before names', () => {
    expect(kindNames.map(singular)).toContain('backend-pool');
  });
});

describe('columnsFor', () => {
  const shown = (kind: (typeof kindNames)[number], object: object) => {
    const columns = columnsFor(kind, { scopes: true, prefix: '', now: Date.parse('2030-01-01T00:01:00Z') });
    const wire = {
      apiVersion: 'fairway/v1',
      kind,
      metadata: { name: 'it', scope: 'default', generation: 2, createdAt: '2030-01-01T00:00:00Z' },
      spec: {},
      ...object,
    } as Parameters<(typeof columns)[number]['cell']>[0];
    return Object.fromEntries(
      columns.map(({ title, cell }) => {
        const value = cell(wire);
        return [title, typeof value === 'string' ? value : value.text];
      }),
    );
  };

  it('show of a service what it listens on, for whom, and why it is not well', () => {
    const conditions = [
      { type: 'Programmed', status: 'Unknown', reason: 'NoProxies', message: 'none' },
      { type: 'ResolvedRefs', status: 'False', reason: 'ReferenceMissing', message: 'no pool web' },
      { type: 'Accepted', status: 'True', reason: 'Accepted', message: '' },
    ];
    const listeners = [
      { name: 'web', port: 80, protocol: 'HTTP', hosts: ['a.example'], routes: [{ hosts: ['b.example'], rules: [] }] },
      { name: 'tls', port: 443, protocol: 'HTTPS', hosts: ['a.example'] },
    ];
    expect(shown('VirtualService', { spec: { fleet: 'edge', listeners }, status: { conditions } })).toEqual({
      SCOPE: 'default',
      NAME: 'it',
      FLEET: 'edge',
      LISTENERS: '80/HTTP,443/HTTPS',
      HOSTS: 'a.example,b.example',
      ADDRESSES: '*',
      PROGRAMMED: 'Unknown',
      REASON: 'ReferenceMissing',
      GENERATION: '2',
      AGE: '60s',
      MESSAGE: 'no pool web',
    });
  });

  it('show of a pool how many members it has, and the default where it says nothing', () => {
    expect(
      shown('BackendPool', { spec: { members: [{}, {}] }, status: { usedBy: ['VirtualService/default/shop'] } }),
    ).toMatchObject({
      MEMBERS: '2',
      ALGORITHM: effectiveBackendPool({}).algorithm,
      CHECKS: '-',
      'USED-BY': 'shop',
    });
  });

  it('do with an object that has no status at all', () => {
    for (const kind of kindNames) {
      const spec = { listeners: [], attachTo: [], rules: [], subjects: [] };
      expect(shown(kind, { spec })).toMatchObject({ NAME: 'it', AGE: '60s' });
    }
  });
});
