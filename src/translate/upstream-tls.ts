import { create } from '@bufbuild/protobuf';
import { type TransportSocket, TransportSocketSchema } from '../gen/envoy/config/core/v3/base_pb.js';
import {
  SubjectAltNameMatcher_SanType,
  TlsParameters_TlsProtocol,
} from '../gen/envoy/extensions/transport_sockets/tls/v3/common_pb.js';
import { UpstreamTlsContextSchema } from '../gen/envoy/extensions/transport_sockets/tls/v3/tls_pb.js';
import type { PoolRow } from '../graph/index.ts';
import { effectiveBackendPool, type UpstreamTls } from '../model/index.ts';
import { discoveryTimeoutMs, overAds } from './config-source.ts';
import { pack } from './encode.ts';

/** The extension that speaks TLS, on either side. */
export const tlsSocket = 'envoy.transport_sockets.tls';

/** A secret by its name, fetched by SDS. */
export function secretByName(name: string) {
  return { name, sdsConfig: overAds(discoveryTimeoutMs) };
}

type TlsSource = Pick<PoolRow, 'spec' | 'clientSecret'>;

/**
 * TLS to the members, always verified: by the CA, and by the name that was asked for. `caSecret` is there whenever the
 * pool's TLS is not broken.
 */
export function upstreamTlsSocket(pool: TlsSource, tls: UpstreamTls, caSecret: string): TransportSocket {
  const context = create(UpstreamTlsContextSchema, {
    sni: tls.sni ?? '',
    commonTlsContext: {
      tlsParams: { tlsMinimumProtocolVersion: TlsParameters_TlsProtocol.TLSv1_2 },
      alpnProtocols: alpn(pool),
      tlsCertificateSdsSecretConfigs: pool.clientSecret === undefined ? [] : [secretByName(pool.clientSecret)],
      validationContextType: {
        case: 'combinedValidationContext',
        value: {
          defaultValidationContext: {
            matchTypedSubjectAltNames:
              tls.sni === undefined
                ? []
                : [
                    {
                      sanType: SubjectAltNameMatcher_SanType.DNS,
                      matcher: { matchPattern: { case: 'exact', value: tls.sni } },
                    },
                  ],
          },
          validationContextSdsSecretConfig: secretByName(caSecret),
        },
      },
    },
  });
  return create(TransportSocketSchema, {
    name: tlsSocket,
    configType: { case: 'typedConfig', value: pack(UpstreamTlsContextSchema, context) },
  });
}

/** What is offered in the handshake. With `auto` Envoy offers both itself. */
function alpn(pool: Pick<PoolRow, 'spec'>): string[] {
  const { protocol } = effectiveBackendPool(pool.spec);
  return protocol === 'auto' ? [] : [protocol === 'http2' ? 'h2' : 'http/1.1'];
}
