import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareObjects, firstAfter, readContinue, writeContinue } from '../../../src/api/page.ts';
import type { FairwayObject } from '../../../src/model/index.ts';

const object = (scope: string, name: string) => ({ metadata: { scope, name } }) as FairwayObject;
const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,3}[a-z0-9])?$/);

describe('pages', () => {
  it('begin after the object that the one before ended with, whether or not it is still there', () => {
    const anyObjects = fc.array(fc.tuple(label, label), { maxLength: 20 });
    fc.assert(
      fc.property(anyObjects, label, label, (pairs, scope, name) => {
        const sorted = pairs.map(([s, n]) => object(s, n)).sort(compareObjects);
        const at = object(scope, name);
        expect(sorted.slice(firstAfter(sorted, at.metadata as { scope: string; name: string }))).toEqual(
          sorted.filter((one) => compareObjects(one, at) > 0),
        );
      }),
    );
  });

  it('have tokens that are read back as they were written', () => {
    const start = { revision: 12, scope: 'default', name: 'shop', selection: '["Route","","a=ü",""]' };
    expect(writeContinue(start)).toMatch(/^[\w-]+$/);
    expect(readContinue(writeContinue(start), start.selection)).toEqual(start);
  });

  it.each([
    '',
    'x',
    '%%%',
    Buffer.from('{}').toString('base64url'),
    Buffer.from('[1,"a","b"]').toString('base64url'),
    Buffer.from('[-1,"a","b","s"]').toString('base64url'),
    Buffer.from('[1,"a",2,"s"]').toString('base64url'),
  ])('refuse %j as a token', (token) => {
    expect(() => readContinue(token, 's')).toThrow(expect.objectContaining({ code: 'InvalidParameter' }));
  });
});
