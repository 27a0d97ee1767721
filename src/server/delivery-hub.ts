import type { Mirror } from '../control/index.ts';
import { fleetDrainTimeoutMs } from '../model/index.ts';
import type { Rejection } from '../status/index.ts';
import { type Conviction, createHub, type Hub } from '../xds/index.ts';

/** The hub of all streams, which begins with what the records say of earlier ones. */
export function createDeliveryHub({ records }: Mirror, replica: string): Hub {
  return createHub({
    random: Math.random,
    identifier: `fairway/${replica}`,
    convictions: [...records.rejections.values()].flatMap(({ record }) => convictionsOf(record)),
    // A proxy whose fleet is gone drains for as long as one that was told nothing.
    drainMs: fleetDrainTimeoutMs({}),
  });
}

/** What proxies refused in earlier runs, and are not to be sent again. */
function convictionsOf({ type, name, words, versions, hash, earlier, acquitted }: Rejection): Conviction[] {
  const hashes = acquitted ? earlier : [...earlier, hash];
  return hashes.flatMap((one) => versions.map((version) => ({ type, name, words, version, hash: one })));
}
