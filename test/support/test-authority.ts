// Metadata of decorators, which @peculiar/x509 needs to find in place.
import 'reflect-metadata';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';

/** A CA of a test, and what it signs. */
export interface TestAuthority {
  /** PEM. */
  readonly ca: string;
  /** For servers on loopback and for clients. `subject`: `CN=ada, O=web`. */
  issue(subject: string, options?: IssueOptions): Promise<{ readonly cert: string; readonly key: string }>;
}

export interface IssueOptions {
  readonly notAfter?: Date;
  readonly uses?: readonly ExtendedKeyUsage[];
  readonly names?: readonly { readonly type: 'dns' | 'ip' | 'url' | 'email'; readonly value: string }[];
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const hourMs = 3_600_000;
let serials = 0x1000;

export async function createTestAuthority(name: string): Promise<TestAuthority> {
  const keys = await newKeys();
  const validity = () => ({ notBefore: new Date(Date.now() - hourMs), notAfter: new Date(Date.now() + 24 * hourMs) });
  const serialNumber = () => (++serials).toString(16);
  const own = await X509CertificateGenerator.createSelfSigned({
    ...validity(),
    serialNumber: serialNumber(),
    name: `CN=${name}`,
    signingAlgorithm: algorithm,
    keys,
    extensions: [new BasicConstraintsExtension(true, 0, true), new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true)],
  });
  return {
    ca: `${own.toString('pem')}\n`,
    async issue(subject, options = {}) {
      const pair = await newKeys();
      const { uses = [ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth] } = options;
      const { names = [{ type: 'ip', value: '127.0.0.1' }] } = options;
      const certificate = await X509CertificateGenerator.create({
        ...validity(),
        ...(options.notAfter === undefined ? {} : { notAfter: options.notAfter }),
        serialNumber: serialNumber(),
        subject,
        issuer: own.subject,
        signingAlgorithm: algorithm,
        publicKey: pair.publicKey,
        signingKey: keys.privateKey,
        extensions: [
          ...(names.length === 0 ? [] : [new SubjectAlternativeNameExtension([...names])]),
          new ExtendedKeyUsageExtension([...uses]),
          new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        ],
      });
      return { cert: `${certificate.toString('pem')}\n`, key: await pemKey(pair.privateKey) };
    },
  };
}

function newKeys() {
  return crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
}

async function pemKey(key: CryptoKey): Promise<string> {
  const base64 = Buffer.from(await crypto.subtle.exportKey('pkcs8', key)).toString('base64');
  return ['-----BEGIN PRIVATE KEY-----', ...(base64.match(/.{1,64}/g) ?? []), '-----END PRIVATE KEY-----', ''].join(
    '\n',
  );
}
