import { describe, expect, test } from 'vitest';
import {
  fullGrant,
  type Grant,
  givesAll,
  grantingRefusal,
  grantOf,
  grantsOf,
  type Identity,
  remainingAdmin,
} from '../../../src/access/index.ts';
import { permissions, type RoleBindingObject, type RoleBindingSpec } from '../../../src/model/index.ts';
import { stored } from '../../support/bindings.ts';

type Spec = Omit<RoleBindingSpec, 'subjects'>;

const grant = (spec: Spec): Grant => grantOf('b', { subjects: [{ user: 'x' }], ...spec });

describe('what somebody may give', () => {
  const all: Spec = { role: 'admin', scopes: ['*'], permissions: [...permissions] };
  test.each<[held: Spec[], wanted: Spec, refused: RegExp | undefined]>([
    [[all], all, undefined],
    [[all], { role: 'viewer', scopes: ['web'] }, undefined],
    [[{ role: 'admin', scopes: ['web'] }], { role: 'admin', scopes: ['web'] }, undefined],
    [[{ role: 'admin', scopes: ['web'] }], { role: 'viewer', scopes: ['web', 'docs'] }, /in scope docs/],
    [[{ role: 'admin', scopes: ['web'] }], { role: 'viewer', scopes: ['*'] }, /in all scopes takes the role admin/],
    [
      [
        { role: 'admin', scopes: ['web'] },
        { role: 'admin', scopes: ['docs'] },
      ],
      { role: 'operator', scopes: ['web', 'docs'] },
      undefined,
    ],
    [[{ role: 'operator', scopes: ['*'] }], { role: 'viewer', scopes: ['web'] }, /takes the role admin there/],
    [[], { role: 'viewer', scopes: ['web'] }, /takes the role admin there/],
    // Permissions do not come with a role.
    [[{ role: 'admin', scopes: ['*'] }], { permissions: ['machinery'] }, /machinery takes that permission/],
    [[{ role: 'admin', scopes: ['web'] }], { role: 'viewer', scopes: ['web'], permissions: ['secrets'] }, /secrets/],
    [
      [{ role: 'admin', scopes: ['web'], permissions: ['secrets'] }],
      { role: 'operator', scopes: ['web'], permissions: ['secrets'] },
      undefined,
    ],
    [
      [
        { role: 'admin', scopes: ['web'] },
        { role: 'operator', scopes: ['docs'], permissions: ['secrets'] },
      ],
      { scopes: ['docs'], permissions: ['secrets'] },
      /takes the role admin there/,
    ],
    [
      [{ role: 'admin', scopes: ['web'], permissions: ['machinery'] }],
      { permissions: ['machinery'] },
      /role admin in all scopes/,
    ],
  ])('%j gives %j', (held, wanted, refused) => {
    const words = grantingRefusal(held.map(grant), grant(wanted));
    if (refused === undefined) expect(words).toBeUndefined();
    else expect(words).toMatch(refused);
  });
});

const binding = (name: string, subjects: RoleBindingSpec['subjects'], spec: Spec = {}): RoleBindingObject =>
  stored(name, { subjects, role: 'admin', scopes: ['*'], permissions: [...permissions], ...spec });

describe('what identities are given', () => {
  const bindings = [
    binding('people', [{ user: 'ada' }, { group: 'web' }]),
    binding('robots', [{ token: 'ada' }]),
    binding('others', [{ user: 'bob' }]),
  ];
  test.each<[Identity, readonly string[]]>([
    [{ name: 'ada', kind: 'oidc', groups: [] }, ['people']],
    [{ name: 'ada', kind: 'certificate', groups: ['web'] }, ['people']],
    [{ name: 'ada', kind: 'token', groups: [] }, ['robots']],
    [{ name: 'eve', kind: 'oidc', groups: ['web', 'x'] }, ['people']],
    [{ name: 'web', kind: 'oidc', groups: [] }, []],
    [{ name: 'local', kind: 'local', groups: [] }, ['local']],
  ])('%j', (identity, names) => {
    expect(grantsOf(identity, bindings).map(({ binding: name }) => name)).toEqual(names);
  });

  test('whoever asks nobody gives everything', () => {
    expect(grantsOf({ name: 'local', kind: 'local', groups: [] }, [])).toEqual([fullGrant('local')]);
  });
});

describe('the last administrator', () => {
  test.each<[string, Spec, boolean]>([
    ['all there is', {}, true],
    ['another role', { role: 'operator' }, false],
    ['one scope', { scopes: ['web'] }, false],
    ['all scopes by name and by star', { scopes: ['web', '*'] }, true],
    ['a permission less', { permissions: permissions.slice(1) }, false],
  ])('%s', (_name, spec, want) => {
    expect(givesAll(binding('b', [{ user: 'x' }], spec))).toBe(want);
  });

  test.each<[string, readonly RoleBindingObject[], string | undefined]>([
    ['nobody', [], undefined],
    ['a token that is there', [binding('a', [{ token: 'here' }])], 'a'],
    ['a token that is gone', [binding('a', [{ token: 'gone' }])], undefined],
    ['a user', [binding('a', [{ token: 'gone' }, { user: 'ada' }])], 'a'],
    ['somebody with less', [binding('a', [{ user: 'ada' }], { role: 'viewer' })], undefined],
  ])('%s', (_name, bindings, want) => {
    expect(remainingAdmin(bindings, (name) => name === 'here')?.metadata.name).toBe(want);
  });
});
