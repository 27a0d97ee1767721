import { type TObject, Type } from 'typebox';
import type { Kind } from './kind.ts';
import { apiVersion, kinds } from './kinds.ts';
import { Closed, Text, TextMap } from './schema.ts';

/**
 * Schemas of whole objects: what `parseObject` checks, and what the OpenAPI document shows. `readOnly` fields are
 * written by Fairway and ignored on input; `writeOnly` ones are taken and never returned.
 */

const written = { readOnly: true } as const;

const metadataProperties = {
  name: Text('fairway-name', { description: 'Unique per kind and scope: an RFC 1123 label of at most 63 characters.' }),
  labels: Type.Optional(
    TextMap('fairway-label-key', 'fairway-label-value', {
      maxProperties: 64,
      maxLength: 63,
      description: 'For selectors.',
    }),
  ),
  annotations: Type.Optional(
    TextMap('fairway-label-key', 'fairway-annotation-value', {
      maxProperties: 64,
      maxLength: 16384,
      description: 'Notes of tools and people; nothing selects by them.',
    }),
  ),
  uid: Type.Optional(Type.String({ ...written, description: 'Differs for every object that ever was.' })),
  generation: Type.Optional(Type.Integer({ ...written, description: 'Grows by one with each change of spec.' })),
  revision: Type.Optional(
    Type.String({ ...written, description: 'Store revision of the last change of spec or metadata.' }),
  ),
  createdRevision: Type.Optional(Type.String({ ...written, description: 'Store revision of the creation.' })),
  createdAt: Type.Optional(Type.String({ ...written, format: 'date-time', description: 'Time of the creation.' })),
  deletedAt: Type.Optional(Type.String({ ...written, format: 'date-time', description: 'Time of the deletion.' })),
  source: Type.Optional(Type.String({ ...written, description: 'Who keeps the object; absent: operators.' })),
};

const scopeProperty = {
  scope: Type.Optional(Text('fairway-name', { default: 'default', description: 'Tenant that the object belongs to.' })),
};

/** Of `metadata`, for kinds with a scope and for global ones. */
const metadataSchema = Closed({ ...metadataProperties, ...scopeProperty });
const globalMetadataSchema = Closed(metadataProperties);

export const conditionSchema = Closed({
  type: Type.String({ description: 'What it is about, for instance Programmed.' }),
  status: Type.Enum(['True', 'False', 'Unknown']),
  reason: Type.String({ description: 'One of the closed list of the kind.' }),
  message: Type.String({ description: 'Names the object and the field and says what to do.' }),
  observedGeneration: Type.Integer({ description: 'Generation of the spec that it speaks of.' }),
  lastTransitionTime: Type.String({ format: 'date-time', description: 'When `status` last changed.' }),
});

/** Generic: kinds add fields of their own. */
const statusSchema = Type.Object(
  {
    observedGeneration: Type.Integer({ description: 'Generation of the spec that it speaks of.' }),
    conditions: Type.Array(conditionSchema),
  },
  { additionalProperties: true, readOnly: true, description: 'What came of the object. Written by Fairway.' },
);

/** The schema of a whole object of a kind. */
export function objectSchema(kind: Kind): TObject {
  return objectSchemas[kind];
}

function makeObjectSchema(kind: Kind): TObject {
  const info = kinds[kind];
  return Closed(
    {
      apiVersion: Type.Literal(apiVersion, { description: 'Version of this shape.' }),
      kind: Type.Literal(kind),
      metadata: info.global ? globalMetadataSchema : metadataSchema,
      spec: info.schema,
      status: Type.Optional(statusSchema),
    },
    { description: info.description },
  );
}

const objectSchemas: Readonly<Record<Kind, TObject>> = {
  Scope: makeObjectSchema('Scope'),
  RoleBinding: makeObjectSchema('RoleBinding'),
  Fleet: makeObjectSchema('Fleet'),
  Node: makeObjectSchema('Node'),
  Certificate: makeObjectSchema('Certificate'),
  BackendPool: makeObjectSchema('BackendPool'),
  VirtualService: makeObjectSchema('VirtualService'),
  Route: makeObjectSchema('Route'),
};
