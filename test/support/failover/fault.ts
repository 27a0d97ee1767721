import type { ToyProxy } from '../toy-proxy.ts';
import type { Bed } from './bed.ts';
import { type Figure, none } from './figure.ts';

/** Something that fails, and what was seen while it did. */
export interface Fault {
  readonly name: string;
  /** Leaves the bed whole. */
  run(bed: Bed, pauses: Pauses): Promise<readonly Figure[]>;
}

/** How long the faults last that have a length, and how much happens meanwhile. */
export interface Pauses {
  readonly writesPerSecond: number;
  /** The leader stands still. */
  readonly frozenMs: number;
  /** Each member of etcd is away. */
  readonly memberMs: number;
  readonly quorumMs: number;
  readonly slowMs: number;
  readonly cutOffMs: number;
  /** etcd is not there while all controllers start. */
  readonly etcdAwayMs: number;
  /** All controllers are restarted so many times. */
  readonly rounds: number;
}

/** What must hold of each proxy under every fault; `tally.reset` was called before it. */
export function expectedOfProxies(toys: readonly ToyProxy[]): Figure[] {
  return [
    none(
      'resources that a proxy had and was sent again',
      toys.flatMap(({ tally }) => tally.repeated),
    ),
    none(
      'resources of proxies that went back to a former form',
      toys.flatMap(({ tally }) => tally.rolledBack),
    ),
    none(
      'resources that were taken away from proxies',
      toys.flatMap(({ tally }) => tally.removed),
    ),
  ];
}
