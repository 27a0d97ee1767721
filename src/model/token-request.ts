import type { Static } from 'typebox';
import { Type } from 'typebox';
import type { FieldError } from '../lib/errors.ts';
import { err, ok, type Result } from '../lib/result.ts';
import { checkSchema } from './check.ts';
import { Closed, Duration, type Immutable, Text } from './schema.ts';

/** What is asked for when an API token is made. A token is no object: it is made once, used, and taken back. */

export const tokenRequestSchema = Closed(
  {
    name: Text('fairway-name', {
      description: 'What it is called in role bindings. Several may have one name, so that one can replace another.',
    }),
    expiresIn: Type.Optional(
      Duration({ min: '1m', max: '87600h', description: 'How long it is good for; absent: until it is deleted.' }),
    ),
  },
  { description: 'An API token to be made.' },
);

export type TokenRequest = Immutable<Static<typeof tokenRequestSchema>>;

export function parseTokenRequest(value: unknown): Result<TokenRequest, readonly FieldError[]> {
  const errors = checkSchema(tokenRequestSchema, value);
  return errors.length === 0 ? ok(value as TokenRequest) : err(errors);
}
