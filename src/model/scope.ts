import type { Static } from 'typebox';
import { Closed, type Immutable } from './schema.ts';

/** Scope: a tenant. It has labels and nothing else so far. */

export const scopeSchema = Closed({}, { description: 'A tenant. Names are unique per kind and scope.' });

export type ScopeSpec = Immutable<Static<typeof scopeSchema>>;

/** Reasons of the conditions of a Scope. */
export const scopeReasons = { Accepted: ['Accepted', 'InternalError'] } as const;
