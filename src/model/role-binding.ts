import { type Static, Type } from 'typebox';
import type { FieldError } from '../lib/errors.ts';
import type { Kind } from './kind.ts';
import { objectKey, pointerTo, type Reference } from './ref.ts';
import { Closed, ExactlyOne, type Immutable, Text } from './schema.ts';

/** RoleBinding: who may do what, and where. What it means is decided in the room `access`. */

/** Each may do what those before it may. */
export const roles = ['viewer', 'operator', 'admin'] as const;

export type Role = (typeof roles)[number];

/** What no role brings with it, not even that of an admin: each is given by name. */
export const permissions = ['machinery', 'secrets', 'system-policies', 'metrics'] as const;

export type Permission = (typeof permissions)[number];

const subjectSchema = ExactlyOne(
  {
    user: Type.Optional(
      Text('fairway-subject', {
        maxLength: 256,
        description: 'A person or a program: the name in a client certificate, or the username claim of an OIDC token.',
      }),
    ),
    group: Type.Optional(
      Text('fairway-subject', {
        maxLength: 256,
        description: 'Everybody of a group: an organization of the certificate, or an entry of the groups claim.',
      }),
    ),
    token: Type.Optional(Text('fairway-name', { description: 'Whoever has an API token of this name.' })),
  },
  { description: 'Exactly one of `user`, `group` and `token`.' },
);

export const roleBindingSchema = Closed(
  {
    subjects: Type.Array(subjectSchema, { minItems: 1, maxItems: 100, description: 'Who may.' }),
    role: Type.Optional(
      Type.Enum([...roles], {
        description:
          'viewer: reads. operator: reads and writes. admin: besides that gives to others what the admin has. Absent: the permissions alone.',
      }),
    ),
    scopes: Type.Optional(
      Type.Array(Text('fairway-scope-pattern'), {
        minItems: 1,
        maxItems: 100,
        uniqueItems: true,
        description: 'Where the role and the permission `secrets` hold: names of scopes, or `*` for all of them.',
      }),
    ),
    permissions: Type.Optional(
      Type.Array(
        Type.Enum([...permissions], {
          description:
            'machinery: write fleets and nodes. secrets: write private keys and passwords in the scopes. system-policies: write what stands in the scope `system`, beside a role there. metrics: read the measurements.',
        }),
        { maxItems: permissions.length, uniqueItems: true, description: 'What no role brings with it.' },
      ),
    ),
  },
  { description: 'Who may do what, and where. What several bindings give adds up.' },
);

export type RoleBindingSpec = Immutable<Static<typeof roleBindingSchema>>;

export type Subject = RoleBindingSpec['subjects'][number];

/** What the schema cannot say about a RoleBinding. */
export function checkRoleBinding({ role, scopes, permissions: given = [] }: RoleBindingSpec): readonly FieldError[] {
  const errors: FieldError[] = [];
  if (role === undefined && given.length === 0) {
    errors.push({ pointer: '/spec', message: 'gives nothing: it needs a `role`, `permissions` or both' });
  }
  const secrets = given.indexOf('secrets');
  if (scopes === undefined && role !== undefined) {
    errors.push({ pointer: '/spec/scopes', message: 'is required with a role: name scopes, or `*` for all of them' });
  } else if (scopes === undefined && secrets >= 0) {
    errors.push({ pointer: `/spec/permissions/${secrets}`, message: 'holds in scopes: name some in `scopes`' });
  }
  if (scopes !== undefined && role === undefined && secrets < 0) {
    errors.push({ pointer: '/spec/scopes', message: 'has no meaning without a role or the permission `secrets`' });
  }
  return errors;
}

/** The scopes that it names: one of them that went and came back would be somebody else's. */
export function roleBindingReferences({ scopes = [] }: RoleBindingSpec): readonly Reference[] {
  const kind: Kind = 'Scope';
  return scopes.flatMap((scope, i) =>
    scope === '*' ? [] : [{ field: `/spec${pointerTo('scopes', i)}`, kind, key: objectKey(kind, undefined, scope) }],
  );
}

/** Reasons of the conditions of a RoleBinding. */
export const roleBindingReasons = {
  Accepted: ['Accepted', 'InternalError'],
  ResolvedRefs: ['ResolvedRefs', 'ReferenceMissing'],
} as const;
