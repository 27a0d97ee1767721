import { joinRequestSchema, joinTokenRequestSchema, renewalRequestSchema } from '../../model/index.ts';
import { list, number, object, plain, text, time } from './build.ts';

const joinToken = { id: text, node: text, fleet: text, expires: time };

export const membershipSchemas = {
  JoinTokenRequest: plain(joinTokenRequestSchema),
  JoinRequest: plain(joinRequestSchema),
  RenewalRequest: plain(renewalRequestSchema),
  JoinTokenList: object({ items: list(object(joinToken)) }, ['items']),
  JoinToken: object({ ...joinToken, token: text }, ['token']),
  Membership: object({
    node: text,
    fleet: text,
    uid: { ...text, description: 'Of the Node object that the certificate is for.' },
    trustDomain: text,
    certificate: { ...text, description: 'PEM.' },
    ca: { ...text, description: 'Whose signatures on certificates of controllers count, PEM.' },
    issuedAt: time,
    notAfter: time,
    drainTimeout: { ...text, description: 'Of the Fleet, where it exists: for the start of the proxy.' },
    controllers: { ...list(text), description: 'xDS addresses of all controllers: for the start of the proxy.' },
  }),
  Authority: object({
    trustDomain: text,
    certificates: { ...text, description: 'PEM.' },
    source: { enum: ['Own', 'Files'], description: 'What signs: its own root, or a CA in files of the controllers.' },
    notAfter: { ...time, description: 'When the first ends of what signs.' },
    expiring: { type: 'boolean', description: 'That is soon: no certificate outlives it.' },
  }),
  Rotation: object({
    state: {
      enum: ['Steady', 'Spreading', 'Serving'],
      description:
        'Spreading: nodes go over to the new root as they renew. Serving: controllers have, and the old root goes in a moment.',
    },
    waitingFor: object({ count: number, nodes: list(text) }),
  }),
};
