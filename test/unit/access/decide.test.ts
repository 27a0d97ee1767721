import { describe, expect, test } from 'vitest';
import {
  type Action,
  decide,
  decideAnywhere,
  facilities,
  familyOf,
  fullGrant,
  type Grant,
} from '../../../src/access/index.ts';
import { kindInfo, kindNames, type Permission, type Role } from '../../../src/model/index.ts';

const give = (role: Role | undefined, scopes: readonly string[], ...permissions: Permission[]): Grant => ({
  binding: 'b',
  role,
  scopes,
  permissions,
});

const all = ['*'];

/** Who somebody is, in short. */
const people = {
  nobody: [],
  viewer: [give('viewer', ['web'])],
  viewerOfAll: [give('viewer', all)],
  operator: [give('operator', ['web'])],
  operatorOfAll: [give('operator', all)],
  admin: [give('admin', ['web'])],
  adminOfAll: [give('admin', all)],
  engineer: [give(undefined, [], 'machinery')],
  scraper: [give(undefined, [], 'metrics')],
  keeper: [give('operator', ['web'], 'secrets')],
  /** Keys of one scope and work in another do not add up to keys in the other. */
  split: [give('operator', ['web']), give('viewer', ['docs'], 'secrets')],
  /** What two bindings give in one scope does. */
  both: [give('operator', ['web']), give(undefined, ['web'], 'secrets')],
  guard: [give('operator', ['system'], 'system-policies')],
  guardWithoutRole: [give(undefined, [], 'system-policies')],
  everything: [fullGrant('all')],
} as const satisfies Record<string, readonly Grant[]>;

type Person = keyof typeof people;

const everybody = Object.keys(people) as Person[];

type Case = readonly [what: Action['verb'], kind: Action['kind'], scope: string | undefined, who: readonly Person[]];

const ofRole: readonly Person[] = [
  'viewer',
  'viewerOfAll',
  'operator',
  'operatorOfAll',
  'admin',
  'adminOfAll',
  'keeper',
  'split',
  'both',
  'guard',
  'everything',
];
const writersOfWeb: readonly Person[] = [
  'operator',
  'operatorOfAll',
  'admin',
  'adminOfAll',
  'keeper',
  'split',
  'both',
  'everything',
];

const cases: readonly Case[] = [
  ['read', 'BackendPool', 'web', [...writersOfWeb, 'viewer', 'viewerOfAll']],
  ['write', 'BackendPool', 'web', writersOfWeb],
  ['delete', 'BackendPool', 'web', writersOfWeb],
  ['read', 'VirtualService', 'docs', ['viewerOfAll', 'operatorOfAll', 'adminOfAll', 'split', 'everything']],
  ['write', 'Route', 'docs', ['operatorOfAll', 'adminOfAll', 'everything']],
  ['read', 'Certificate', 'system', ['viewerOfAll', 'operatorOfAll', 'adminOfAll', 'guard', 'everything']],
  ['write', 'BackendPool', 'system', ['guard', 'everything']],
  ['delete', 'BackendPool', 'system', ['guard', 'everything']],

  ['read', 'Scope', undefined, ofRole],
  ['write', 'Scope', undefined, ['adminOfAll', 'everything']],
  ['delete', 'Scope', undefined, ['adminOfAll', 'everything']],

  ['read', 'Fleet', undefined, [...ofRole, 'engineer']],
  ['write', 'Fleet', undefined, ['engineer', 'everything']],
  ['delete', 'Node', undefined, ['engineer', 'everything']],

  ['read', 'RoleBinding', undefined, ['admin', 'adminOfAll', 'everything']],
  ['write', 'RoleBinding', undefined, ['admin', 'adminOfAll', 'everything']],
  ['write', 'Token', undefined, ['admin', 'adminOfAll', 'everything']],
  ['delete', 'Token', undefined, ['admin', 'adminOfAll', 'everything']],

  ['write', 'Apply', undefined, [...writersOfWeb, 'engineer', 'guard']],
  ['read', 'Apply', undefined, []],

  ['read', 'Proxy', undefined, ['viewerOfAll', 'operatorOfAll', 'adminOfAll', 'engineer', 'everything']],
  ['read', 'Commit', undefined, ['viewerOfAll', 'operatorOfAll', 'adminOfAll', 'engineer', 'everything']],
  ['read', 'Controller', undefined, ['viewerOfAll', 'operatorOfAll', 'adminOfAll', 'engineer', 'everything']],
  ['read', 'Event', undefined, ['viewerOfAll', 'operatorOfAll', 'adminOfAll', 'engineer', 'everything']],
  ['write', 'Proxy', undefined, ['engineer', 'everything']],

  ['read', 'JoinToken', undefined, [...ofRole, 'engineer']],
  ['write', 'JoinToken', undefined, ['engineer', 'everything']],
  ['write', 'Authority', undefined, ['engineer', 'everything']],

  ['read', 'Metrics', undefined, ['viewerOfAll', 'operatorOfAll', 'adminOfAll', 'scraper', 'everything']],
  ['delete', 'Metrics', undefined, []],

  ['read', 'Audit', undefined, ['adminOfAll', 'everything']],
  ['delete', 'Audit', undefined, []],

  ['read', 'Backup', undefined, ['everything']],
  ['write', 'Backup', undefined, ['everything']],
];

describe('decide', () => {
  test.each(cases)('%s %s in %s', (verb, kind, scope, who) => {
    const may = everybody.filter((name) => decide(people[name], { verb, kind, scope, touchesSecret: false }).allowed);
    expect(may).toEqual(everybody.filter((name) => who.includes(name)));
  });

  test.each<[kind: Action['kind'], scope: string | undefined, who: readonly Person[]]>([
    ['Certificate', 'web', ['keeper', 'both', 'everything']],
    ['Certificate', 'docs', ['everything']],
    // Of a kind without scope: for all of them.
    ['Fleet', undefined, ['everything']],
  ])('a secret of a %s in %s', (kind, scope, who) => {
    const action: Action = { verb: 'write', kind, scope, touchesSecret: true };
    expect(everybody.filter((name) => decide(people[name], action).allowed)).toEqual(who);
  });

  test('every kind and facility is decided for whoever has everything, and refused with words to nobody', () => {
    for (const kind of [...kindNames, ...facilities]) {
      const isScoped = familyOf(kind) === 'service';
      expect(isScoped, kind).toBe(kindNames.some((name) => name === kind && !kindInfo(name).global));
      const action: Action = { verb: 'read', kind, scope: isScoped ? 'web' : undefined, touchesSecret: false };
      if (kind !== 'Apply') expect(decide(people.everything, action), kind).toEqual({ allowed: true });
      expect(decide([], action)).toMatchObject({ allowed: false, words: expect.stringMatching(/^it takes ./) });
    }
  });

  test.each<[Action, words: string]>([
    [{ verb: 'read', kind: 'Route', scope: 'web', touchesSecret: false }, 'it takes the role viewer in scope web'],
    [{ verb: 'write', kind: 'Route', scope: 'web', touchesSecret: false }, 'it takes the role operator in scope web'],
    [{ verb: 'write', kind: 'Scope', scope: undefined, touchesSecret: false }, 'it takes the role admin in all scopes'],
    [{ verb: 'write', kind: 'Node', scope: undefined, touchesSecret: false }, 'it takes the permission machinery'],
    [
      { verb: 'read', kind: 'Metrics', scope: undefined, touchesSecret: false },
      'it takes the role viewer in all scopes, or the permission metrics',
    ],
  ])('says what it takes: %j', (action, words) => {
    expect(decide([], action)).toEqual({ allowed: false, words });
  });

  test('a secret is refused in words of its own', () => {
    const action: Action = { verb: 'write', kind: 'Certificate', scope: 'web', touchesSecret: true };
    expect(decide(people.operator, action)).toEqual({
      allowed: false,
      words: 'it takes the permission secrets in scope web',
    });
  });
});

test.each<[Action['verb'], Action['kind'], readonly Person[]]>([
  ['read', 'Route', ofRole],
  ['read', 'RoleBinding', ['admin', 'adminOfAll', 'everything']],
  ['write', 'Route', [...writersOfWeb, 'guard']],
])('%s %s somewhere', (verb, kind, who) => {
  const may = everybody.filter((name) => decideAnywhere(people[name], { verb, kind }).allowed);
  expect(may).toEqual(everybody.filter((name) => who.includes(name)));
});
