import { create } from '@bufbuild/protobuf';
import { type Secret, SecretSchema } from '../gen/envoy/extensions/transport_sockets/tls/v3/secret_pb.js';
import type { CertificateSpec } from '../model/index.ts';

/** Secret: a chain with its key, or the CAs to verify others by. */
export function secret(name: string, spec: CertificateSpec): Secret {
  if (spec.ca !== undefined) {
    return create(SecretSchema, {
      name,
      type: { case: 'validationContext', value: { trustedCa: inline(spec.ca) } },
    });
  }
  return create(SecretSchema, {
    name,
    type: {
      case: 'tlsCertificate',
      value: { certificateChain: inline(spec.chain ?? ''), privateKey: inline(spec.key ?? '') },
    },
  });
}

function inline(text: string) {
  return { specifier: { case: 'inlineString', value: text } } as const;
}
