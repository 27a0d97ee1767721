import { type Static, Type } from 'typebox';
import { Closed, Duration, durationMs, type Immutable } from './schema.ts';

/** Fleet: a set of nodes that share a job. */

/** What holds where a Fleet leaves a field out. */
export const fleetDefaults = { ha: 'everyNode', drainTimeout: '60s' } as const;

export const fleetSchema = Closed(
  {
    ha: Type.Optional(
      Type.Enum(['everyNode'], {
        default: fleetDefaults.ha,
        description: 'everyNode: each node carries all services of the fleet.',
      }),
    ),
    drainTimeout: Type.Optional(
      Duration({
        min: '1s',
        max: '1h',
        default: fleetDefaults.drainTimeout,
        description:
          'How long connections of a listener that is replaced or removed may go on. Taken by an Envoy when it starts.',
      }),
    ),
  },
  { description: 'A set of nodes that share a job. A proxy joins it by naming it as `node.cluster`.' },
);

export type FleetSpec = Immutable<Static<typeof fleetSchema>>;

/** `--drain-time-s` of the fleet's proxies, in milliseconds. */
export function fleetDrainTimeoutMs(spec: FleetSpec): number {
  return durationMs(spec.drainTimeout ?? fleetDefaults.drainTimeout);
}

/** Reasons of the conditions of a Fleet. */
export const fleetReasons = {
  Accepted: ['Accepted', 'InternalError'],
  Programmed: ['Programmed', 'Pending', 'NoProxies', 'RejectedByProxy', 'InternalError'],
} as const;
