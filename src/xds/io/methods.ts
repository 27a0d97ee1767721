/** The methods of Envoy's AggregatedDiscoveryService with bytes for messages: encoding is the business of `xds`. */
import type { MethodDefinition } from '@grpc/grpc-js';

const service = '/envoy.service.discovery.v3.AggregatedDiscoveryService';

function passThrough(path: string): MethodDefinition<Buffer, Buffer> {
  const same = (bytes: Buffer): Buffer => bytes;
  return {
    path: `${service}/${path}`,
    requestStream: true,
    responseStream: true,
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  };
}

export const adsMethods = {
  DeltaAggregatedResources: passThrough('DeltaAggregatedResources'),
  StreamAggregatedResources: passThrough('StreamAggregatedResources'),
};
