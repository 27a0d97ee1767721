import type { FastifyBaseLogger } from 'fastify';
import type { Clock } from '../lib/clock.ts';
import type { Bodies } from './body.ts';
import type { Limits } from './limits.ts';
import type { SortedObjects } from './listing.ts';
import type { Ports, View } from './ports.ts';
import type { Watches } from './watches.ts';
import type { Writer } from './writer.ts';

/** What the operations of one API share. */
export interface Api {
  readonly ports: Ports;
  readonly view: View;
  readonly writer: Writer;
  readonly bodies: Bodies;
  readonly sorted: SortedObjects;
  readonly watches: Watches;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly log: FastifyBaseLogger | undefined;
}
