import { create } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import {
  type Cluster,
  Cluster_LbPolicy,
  Cluster_LeastRequestLbConfigSchema,
  Cluster_MaglevLbConfigSchema,
  Cluster_RingHashLbConfig_HashFunction,
  Cluster_RingHashLbConfigSchema,
  Cluster_RoundRobinLbConfigSchema,
} from '../gen/envoy/config/cluster/v3/cluster_pb.js';
import { type BackendPoolSpec, effectiveBackendPool } from '../model/index.ts';

/**
 * Points on the ring. Numbers that Envoy refuses (least above most, a table size that is no prime) leave a ghost of
 * the cluster that blocks CDS, so these are constants: enough points that a few hundred members get even shares, and
 * a bound for what uneven weights can make of it.
 */
const ringPoints = { least: 8192n, most: 1_048_576n };
/** A prime, as Maglev must have. */
const maglevTableSize = 65_537n;

/** How a member is chosen for a request or a connection. */
export function loadBalancing(spec: BackendPoolSpec): Pick<Cluster, 'lbPolicy' | 'lbConfig'> {
  const { algorithm, slowStartMs } = effectiveBackendPool(spec);
  const slowStart =
    slowStartMs === undefined ? undefined : { slowStartConfig: { slowStartWindow: durationFromMs(slowStartMs) } };
  switch (algorithm) {
    case 'roundRobin':
      return {
        lbPolicy: Cluster_LbPolicy.ROUND_ROBIN,
        lbConfig:
          slowStart === undefined
            ? none
            : { case: 'roundRobinLbConfig', value: create(Cluster_RoundRobinLbConfigSchema, slowStart) },
      };
    case 'leastRequest':
      return {
        lbPolicy: Cluster_LbPolicy.LEAST_REQUEST,
        lbConfig:
          slowStart === undefined
            ? none
            : { case: 'leastRequestLbConfig', value: create(Cluster_LeastRequestLbConfigSchema, slowStart) },
      };
    case 'random':
      return { lbPolicy: Cluster_LbPolicy.RANDOM, lbConfig: none };
    case 'ringHash':
      return { lbPolicy: Cluster_LbPolicy.RING_HASH, lbConfig: { case: 'ringHashLbConfig', value: ring() } };
    case 'maglev': {
      const value = create(Cluster_MaglevLbConfigSchema, { tableSize: maglevTableSize });
      return { lbPolicy: Cluster_LbPolicy.MAGLEV, lbConfig: { case: 'maglevLbConfig', value } };
    }
  }
}

const none = { case: undefined } as const;

function ring() {
  return create(Cluster_RingHashLbConfigSchema, {
    minimumRingSize: ringPoints.least,
    maximumRingSize: ringPoints.most,
    hashFunction: Cluster_RingHashLbConfig_HashFunction.XX_HASH,
  });
}
