import { type Static, Type } from 'typebox';
import type { FieldError } from '../lib/errors.ts';
import { ExactlyOne, type Immutable, Text } from './schema.ts';

/**
 * Certificate: a chain with its key, or the CAs that others are verified by. That key and chain belong together,
 * their strength, order and dates are checked by lib/x509.ts, which needs the platform's cryptography.
 */

export const certificateSchema = ExactlyOne(
  {
    chain: Type.Optional(
      Text('fairway-pem', {
        maxLength: 65536,
        description: 'PEM certificates, the leaf first, each signed by the next.',
      }),
    ),
    key: Type.Optional(
      Text('fairway-pem', {
        maxLength: 16384,
        writeOnly: true,
        description:
          'PEM private key of the leaf, not encrypted. Written, never returned. A write without it keeps the stored one where that fits the chain.',
      }),
    ),
    ca: Type.Optional(
      Text('fairway-pem', {
        maxLength: 196608,
        description: 'PEM certificates of CAs, in any order. Instead of chain and key.',
      }),
    ),
    allowedScopes: Type.Optional(
      Type.Array(Text('fairway-scope-pattern'), {
        maxItems: 100,
        uniqueItems: true,
        description: 'Other scopes that may use the certificate, `*` for every scope; absent: none.',
      }),
    ),
  },
  { choices: ['chain', 'ca'], description: 'A certificate chain with its key, or a bundle of CAs.' },
);

export type CertificateSpec = Immutable<Static<typeof certificateSchema>>;

/** What a schema cannot say about a Certificate. */
export function checkCertificate(spec: CertificateSpec): readonly FieldError[] {
  if (spec.ca === undefined || spec.key === undefined) return [];
  return [{ pointer: '/spec/key', message: 'goes with `chain`, and has no meaning beside `ca`' }];
}

/** Reasons of the conditions of a Certificate. */
export const certificateReasons = {
  Accepted: ['Accepted', 'Expired', 'InternalError'],
  Programmed: [
    'Programmed',
    'Pending',
    'NoProxies',
    'NotReferenced',
    'RejectedByProxy',
    'NotAccepted',
    'InternalError',
  ],
} as const;
