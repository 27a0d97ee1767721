import { create } from '@bufbuild/protobuf';
import { SecretSchema } from '../gen/envoy/extensions/transport_sockets/tls/v3/secret_pb.js';
import type { CertificateSpec } from '../model/index.ts';
import type { Write } from './encode.ts';
import { shaped } from './shaped.ts';

/** The texts of a secret; those of the other sort are absent. */
interface Texts {
  readonly name: string;
  readonly ca: string | undefined;
  readonly chain: string;
  readonly key: string;
}

/** Secret: a chain with its key, or the CAs to verify others by. */
export function secret(name: string, { ca, chain = '', key = '' }: CertificateSpec): Write {
  return (to) => writeSecret(to, undefined, { name, ca, chain, key });
}

const writeSecret = shaped(SecretSchema, (_shape: undefined, { name, ca, chain, key }: Texts) => {
  if (ca !== undefined) {
    return create(SecretSchema, {
      name,
      type: { case: 'validationContext', value: { trustedCa: inline(ca) } },
    });
  }
  return create(SecretSchema, {
    name,
    type: {
      case: 'tlsCertificate',
      value: { certificateChain: inline(chain), privateKey: inline(key) },
    },
  });
});

function inline(text: string) {
  return { specifier: { case: 'inlineString', value: text } } as const;
}
