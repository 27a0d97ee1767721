import { describe, expect, it } from 'vitest';
import { type AuthorityRecord, type IssuedRecord, planRotation, startRotation } from '../../../src/plan/index.ts';

const now = Date.parse('2026-01-01T12:00:00Z');
const at = (ms: number) => new Date(now + ms).toISOString();
const root = (id: string) => ({ id, certificate: `PEM ${id}` });

const steady: AuthorityRecord = {
  trustDomain: 'fairway-1',
  roots: [root('old')],
  signing: 'old',
  serving: 'old',
  servingSince: at(-1_000_000),
};
const spreading: AuthorityRecord = { ...steady, roots: [root('old'), root('new')], signing: 'new' };
const serving: AuthorityRecord = { ...spreading, serving: 'new', servingSince: at(-30_000) };

const issued = (rootId: string, expiresMs = 3_600_000, uid = 'u1'): IssuedRecord => ({
  uid,
  fleet: 'edge',
  root: rootId,
  serial: '01',
  issuedAt: at(-60_000),
  notAfter: at(expiresMs),
});
const step = (record: AuthorityRecord, certificates: Record<string, IssuedRecord> = {}, followMs = 60_000) =>
  planRotation(record, {
    issued: Object.entries(certificates),
    uidOf: (name) => (name === 'gone' ? undefined : 'u1'),
    now,
    followMs,
  });

describe('starting a rotation', () => {
  it('trusts both roots and signs by the new one', () => {
    expect(startRotation(steady, root('new'))).toEqual(spreading);
  });
  it('is not done twice at once', () => {
    expect(startRotation(spreading, root('newer'))).toBeUndefined();
  });
});

describe('a rotation', () => {
  it('is none with one root', () => {
    expect(step(steady, { a: issued('old') })).toEqual({ kind: 'steady' });
  });

  it('waits for the nodes whose certificate the old root signed, until the first of them expires', () => {
    const certificates = { b: issued('old', 7_000_000), a: issued('old', 5_000_000), c: issued('new') };
    expect(step(spreading, certificates)).toEqual({ kind: 'wait', until: now + 5_000_000, nodes: ['a', 'b'] });
  });

  it.each([
    ['there are none', {}],
    ['all renewed', { a: issued('new') }],
    ['the rest have expired', { a: issued('new'), b: issued('old', 0) }],
    ['the rest are deleted', { gone: issued('old') }],
    ['the rest were those of deleted nodes of the same name', { a: issued('old', 1_000, 'u0') }],
  ])('lets controllers follow once %s', (_name, certificates) => {
    const record = { ...spreading, serving: 'new', servingSince: at(0) };
    expect(step(spreading, certificates)).toEqual({ kind: 'write', record });
  });

  it('keeps the old root until controllers had their time to follow', () => {
    expect(step(serving)).toEqual({ kind: 'wait', until: now + 30_000, nodes: [] });
  });

  it('keeps it longer when a node turns up that still needs it', () => {
    expect(step(serving, { a: issued('old', 90_000) })).toEqual({ kind: 'wait', until: now + 90_000, nodes: ['a'] });
  });

  it('ends with the new root alone', () => {
    expect(step(serving, { a: issued('new') }, 30_000)).toEqual({
      kind: 'write',
      record: { ...serving, roots: [root('new')] },
    });
  });
});
