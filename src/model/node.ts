import { type Static, Type } from 'typebox';
import { Closed, type Immutable, Text, TextMap } from './schema.ts';

/** Node: one load balancer. It registers itself; operators set what is here. */

export const nodeSchema = Closed(
  {
    labels: Type.Optional(
      TextMap('fairway-label-key', 'fairway-label-value', {
        maxProperties: 64,
        maxLength: 63,
        description: 'Labels of the machine, for node selectors.',
      }),
    ),
    failureDomain: Type.Optional(
      Text('fairway-label-value', {
        minLength: 1,
        maxLength: 63,
        description: 'What it fails together with: a rack, a zone.',
      }),
    ),
  },
  { description: 'One load balancer. It registers itself when its proxy connects.' },
);

export type NodeSpec = Immutable<Static<typeof nodeSchema>>;

/** Reasons of the conditions of a Node. */
export const nodeReasons = {
  Accepted: ['Accepted', 'FleetMissing', 'InternalError'],
  Connected: ['Connected', 'NotConnected'],
  Programmed: ['Programmed', 'Pending', 'Stalled', 'NoProxies', 'RejectedByProxy', 'NotAccepted', 'InternalError'],
} as const;
