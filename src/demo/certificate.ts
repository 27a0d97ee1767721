// Metadata of decorators, which @peculiar/x509 needs to find in place.
import 'reflect-metadata';
import {
  BasicConstraintsExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  type X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';
import type { DraftOf } from '../model/index.ts';

export interface IssuedCertificate {
  /** PEM. */
  readonly chain: string;
  readonly key: string;
  /** As clients see it: hexadecimal, upper case. */
  readonly serial: string;
}

/** Signs certificates that whoever trusts it takes. */
export interface Authority {
  /** Its own certificate, PEM. */
  readonly certificate: string;
  issue(host: string, serial: string): Promise<IssuedCertificate>;
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const hourMs = 3_600_000;

/** An authority that lives as long as this process. What it signs is good for a day. */
export async function createAuthority(): Promise<Authority> {
  const name = 'CN=Fairway demo';
  const keys = await newKeys();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    ...validity(),
    serialNumber: '01',
    name,
    signingAlgorithm: algorithm,
    keys,
    extensions: [new BasicConstraintsExtension(true, 0, true), new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true)],
  });
  return {
    certificate: pem(certificate),
    async issue(host, serial) {
      const own = await newKeys();
      const issued = await X509CertificateGenerator.create({
        ...validity(),
        serialNumber: serial,
        subject: `CN=${host}`,
        issuer: name,
        signingAlgorithm: algorithm,
        publicKey: own.publicKey,
        signingKey: keys.privateKey,
        extensions: [
          new SubjectAlternativeNameExtension([{ type: 'dns', value: host }]),
          new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        ],
      });
      return { chain: pem(issued), key: await pemKey(own.privateKey), serial: issued.serialNumber.toUpperCase() };
    },
  };
}

/** The Certificate object of an issued one, in the scope `default`. */
export function certificateObject(name: string, { chain, key }: IssuedCertificate): DraftOf<'Certificate'> {
  return {
    apiVersion: 'fairway/v1',
    kind: 'Certificate',
    metadata: { name, scope: 'default', labels: {}, annotations: {} },
    spec: { chain, key },
  };
}

function newKeys() {
  return crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
}

/** Clocks of clients may be an hour late. */
function validity() {
  const now = Date.now();
  return { notBefore: new Date(now - hourMs), notAfter: new Date(now + 24 * hourMs) };
}

function pem(certificate: X509Certificate): string {
  return `${certificate.toString('pem')}\n`;
}

async function pemKey(key: CryptoKey): Promise<string> {
  const base64 = Buffer.from(await crypto.subtle.exportKey('pkcs8', key)).toString('base64');
  const lines = base64.match(/.{1,64}/g) ?? [];
  return ['-----BEGIN PRIVATE KEY-----', ...lines, '-----END PRIVATE KEY-----', ''].join('\n');
}
