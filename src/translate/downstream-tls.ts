import { create } from '@bufbuild/protobuf';
import { type TransportSocket, TransportSocketSchema } from '../gen/envoy/config/core/v3/base_pb.js';
import { TlsParameters_TlsProtocol } from '../gen/envoy/extensions/transport_sockets/tls/v3/common_pb.js';
import { DownstreamTlsContextSchema } from '../gen/envoy/extensions/transport_sockets/tls/v3/tls_pb.js';
import { pack } from './encode.ts';
import { secretByName, tlsSocket } from './upstream-tls.ts';

/** TLS towards clients. The certificates come by SDS, so that a new one changes nothing in the listener. */
export function downstreamTlsSocket(secrets: readonly string[]): TransportSocket {
  const context = create(DownstreamTlsContextSchema, {
    commonTlsContext: {
      tlsParams: { tlsMinimumProtocolVersion: TlsParameters_TlsProtocol.TLSv1_2 },
      alpnProtocols: ['h2', 'http/1.1'],
      tlsCertificateSdsSecretConfigs: secrets.map(secretByName),
    },
  });
  return create(TransportSocketSchema, {
    name: tlsSocket,
    configType: { case: 'typedConfig', value: pack(DownstreamTlsContextSchema, context) },
  });
}
