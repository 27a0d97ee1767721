/** The methods that are served. Their messages are bytes here: encoding is the business of `xds`. */
const discovery = '/envoy.service.discovery.v3.AggregatedDiscoveryService';
const clientStatus = '/envoy.service.status.v3.ClientStatusDiscoveryService';

export const methods = {
  deltaResources: `${discovery}/DeltaAggregatedResources`,
  resources: `${discovery}/StreamAggregatedResources`,
  fetchClientStatus: `${clientStatus}/FetchClientStatus`,
  streamClientStatus: `${clientStatus}/StreamClientStatus`,
} as const;
