import { type Static, type TSchema, Type } from 'typebox';
import type { FieldError } from '../lib/errors.ts';
import { err, ok, type Result } from '../lib/result.ts';
import { checkSchema } from './check.ts';
import { Closed, Duration, type Immutable, Text } from './schema.ts';

/** What nodes and operators send about the membership of nodes. None of it is an object that stays. */

const nodeName = Text('fairway-name', { description: 'Name of the Node.' });
const fleetName = Text('fairway-name', { description: 'Name of the Fleet.' });
const certificateRequest = Type.String({
  description: 'PKCS #10 in PEM, signed by the key that the certificate is to be for.',
  minLength: 1,
  maxLength: 16_384,
});

export const joinTokenRequestSchema = Closed(
  {
    node: nodeName,
    fleet: fleetName,
    expiresIn: Type.Optional(
      Duration({ min: '1s', max: '168h', default: '1h', description: 'How long it can be used; once, in any case.' }),
    ),
  },
  { description: 'A token by which one node may join one fleet, once.' },
);

export const joinRequestSchema = Closed(
  {
    token: Type.String({ writeOnly: true, minLength: 1, maxLength: 256, description: 'The join token.' }),
    request: certificateRequest,
    node: Type.Optional(
      Text('fairway-name', { description: 'What it calls itself: refused unless the token says so, too.' }),
    ),
    fleet: Type.Optional(Text('fairway-name', { description: 'Fleet that it means to join: the same.' })),
  },
  { description: 'A node joins.' },
);

export const renewalRequestSchema = Closed(
  {
    certificate: Type.String({ minLength: 1, maxLength: 16_384, description: 'The present certificate, PEM.' }),
    request: certificateRequest,
    proof: Type.String({
      minLength: 1,
      maxLength: 2_048,
      description:
        'Signature with the key of the present certificate, SHA-256, base64url, over `fairway renewal`, a line feed, and `request`.',
    }),
  },
  { description: 'A node asks for its next certificate.' },
);

export const joinTokenDefaults = { expiresIn: '1h' } as const;

export type JoinTokenRequest = Immutable<Static<typeof joinTokenRequestSchema>>;
export type JoinRequest = Immutable<Static<typeof joinRequestSchema>>;
export type RenewalRequest = Immutable<Static<typeof renewalRequestSchema>>;

export const parseJoinTokenRequest = parserOf<JoinTokenRequest>(joinTokenRequestSchema);
export const parseJoinRequest = parserOf<JoinRequest>(joinRequestSchema);
export const parseRenewalRequest = parserOf<RenewalRequest>(renewalRequestSchema);

function parserOf<T>(schema: TSchema): (value: unknown) => Result<T, readonly FieldError[]> {
  return (value) => {
    const errors = checkSchema(schema, value);
    return errors.length === 0 ? ok(value as T) : err(errors);
  };
}
