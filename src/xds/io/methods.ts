/** The methods that are served, with bytes for messages: encoding is the business of `xds`. */
import type { MethodDefinition } from '@grpc/grpc-js';

function passThrough(path: string, streams: boolean): MethodDefinition<Buffer, Buffer> {
  const same = (bytes: Buffer): Buffer => bytes;
  return {
    path,
    requestStream: streams,
    responseStream: streams,
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  };
}

const discovery = '/envoy.service.discovery.v3.AggregatedDiscoveryService';
const status = '/envoy.service.status.v3.ClientStatusDiscoveryService';

export const adsMethods = {
  DeltaAggregatedResources: passThrough(`${discovery}/DeltaAggregatedResources`, true),
  StreamAggregatedResources: passThrough(`${discovery}/StreamAggregatedResources`, true),
};

export const csdsMethods = {
  FetchClientStatus: passThrough(`${status}/FetchClientStatus`, false),
  StreamClientStatus: passThrough(`${status}/StreamClientStatus`, true),
};
