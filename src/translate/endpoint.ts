import { create } from '@bufbuild/protobuf';
import { type BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { HealthStatus } from '../gen/envoy/config/core/v3/health_check_pb.js';
import { LbEndpointSchema, LocalityLbEndpointsSchema } from '../gen/envoy/config/endpoint/v3/endpoint_components_pb.js';
import type { PoolRow } from '../graph/index.ts';
import { type EffectiveMember, effectiveMember, isServing } from '../model/index.ts';
import { isIp, socketAddress } from './address.ts';
import type { Write } from './encode.ts';
import { shaped } from './shaped.ts';
import { writeField } from './splice.ts';

/** ClusterLoadAssignment: the members of a pool. */

/** Field numbers of the messages that are put together here. */
const nameOfAssignment = 1;
const endpointsOfAssignment = 2;
const membersOfLocality = 2;

/** How the proxies learn of a pool's members. */
export type Discovery = 'eds' | 'dns' | 'none';

/**
 * Members that are all addresses come by EDS. A single name among them means DNS by the proxies, and the members stand
 * in the cluster. Members that are disabled count, so that switching one on or off never makes another cluster of it.
 * A pool whose TLS cannot be checked has no members at all: not one byte may go to them.
 */
export function discoveryOf(pool: Pick<PoolRow, 'spec' | 'tlsBroken'>): Discovery {
  let discovery = discoveries.get(pool);
  if (discovery === undefined) {
    const byAddress = (pool.spec.members ?? []).every(({ address }) => isIp(address));
    discovery = pool.tlsBroken ? 'none' : byAddress ? 'eds' : 'dns';
    discoveries.set(pool, discovery);
  }
  return discovery;
}

/** Several resources ask of the same row, and rows never change. */
const discoveries = new WeakMap<object, Discovery>();

/** What of a pool its members follow from. */
export type Members = Pick<PoolRow, 'spec' | 'leaving' | 'tlsBroken'>;

/** The assignment. Without members it is real and empty: the cluster answers 503 at once. */
export function assignment(cluster: string, pool: Members): Write {
  return (to) => {
    to.tag(nameOfAssignment, WireType.LengthDelimited).string(cluster);
    for (const [priority, members] of byPriority(pool).entries()) {
      writeField(to, endpointsOfAssignment, () => {
        for (const { member } of members) writeField(to, membersOfLocality, () => writeMember(to, member));
        writeRestOfLocality(to, priority, undefined);
      });
    }
  };
}

const writeRestOfLocality = shaped(LocalityLbEndpointsSchema, (priority: number) =>
  create(LocalityLbEndpointsSchema, { priority }),
);

/**
 * Members that the proxies know, by priority. Envoy wants the priorities without a gap, so they are counted anew; the
 * order inside one has no meaning and is made the same whatever order they were written in.
 *
 * Those that drain have a priority of their own, the last: Envoy counts them as members that are down, and beside
 * the others they would send traffic to the next priority although nobody is missing. What they have open is not
 * touched by the move (seen on Envoy 1.40), and a move is told to its workers at once, while a mere change of health
 * may wait.
 */
function byPriority(pool: Members): readonly (readonly Keyed[])[] {
  const groups = new Map<number, Keyed[]>();
  const add = (member: EffectiveMember): void => {
    const { address, port, weight, priority, drain } = member;
    const key = `${address} ${port} ${weight}${drain ? ' drain' : ''}`;
    const place = drain ? Number.POSITIVE_INFINITY : priority;
    const group = groups.get(place);
    if (group === undefined) groups.set(place, [{ key, member }]);
    else group.push({ key, member });
  };
  for (const member of pool.spec.members ?? []) if (isServing(member)) add(effectiveMember(member));
  const byName = discoveryOf(pool) === 'dns';
  for (const member of pool.leaving) {
    // A name cannot come by EDS: it left together with the pool's need for DNS.
    if (byName || isIp(member.address)) add(effectiveMember({ ...member, drain: true }));
  }
  return [...groups]
    .sort(([a], [b]) => a - b)
    .map(([, members]) => members.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)));
}

interface Keyed {
  /** Members are sorted by it. */
  readonly key: string;
  readonly member: EffectiveMember;
}

type MemberShape = readonly [port: number, weight: number, drain: boolean];

const writeEndpoint = shaped(LbEndpointSchema, ([port, weight, drain]: MemberShape, { address }: { address: string }) =>
  create(LbEndpointSchema, {
    hostIdentifier: { case: 'endpoint', value: { address: socketAddress(address, port) } },
    loadBalancingWeight: weight,
    healthStatus: drain ? HealthStatus.DRAINING : HealthStatus.UNKNOWN,
  }),
);

function writeMember(to: BinaryWriter, { address, port, weight, drain }: EffectiveMember): void {
  writeEndpoint(to, [port, weight, drain], { address });
}
