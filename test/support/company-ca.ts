// Metadata of decorators, which @peculiar/x509 needs to find in place.
import 'reflect-metadata';
import type { webcrypto } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  BasicConstraintsExtension,
  type ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';

/** A CA as a company has it: a root, and CAs below it that it signs. */
export interface CompanyCa {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
  /** A CA that this one signs. */
  sign(name: string, options?: CaOptions): Promise<CompanyCa>;
}

export interface CaOptions {
  readonly notBefore?: Date;
  readonly notAfter?: Date;
  /** False: it is not said to be a CA. */
  readonly isCa?: boolean;
  readonly pathLength?: number;
  readonly usages?: KeyUsageFlags;
  readonly purposes?: readonly ExtendedKeyUsage[];
  readonly algorithm?: Algorithm;
  /** Of its name for its own key, hexadecimal: CAs make it in several ways. */
  readonly keyId?: string;
}

type Algorithm = webcrypto.EcKeyGenParams | webcrypto.RsaHashedKeyGenParams;

export const p256 = { name: 'ECDSA', namedCurve: 'P-256' } as const;
const dayMs = 86_400_000;
let serials = 0x2000;

export async function createCompanyRoot(name: string, options: CaOptions = {}): Promise<CompanyCa> {
  const keys = await newKeys(options.algorithm);
  return make(name, keys, { name: `O=Company, CN=${name}`, keys }, options);
}

/** As the configuration names them. */
export interface CaPaths {
  readonly caCert: string;
  readonly caKey: string;
  readonly caRoot: string;
}

/** Files of a CA below a root, each written aside and moved into place, as whoever renews them does. */
export function writeCa(folder: string, ca: CompanyCa, root: CompanyCa, name = 'ca'): CaPaths {
  const put = (file: string, text: string): string => {
    const path = join(folder, file);
    writeFileSync(`${path}.new`, text, { mode: 0o600 });
    renameSync(`${path}.new`, path);
    return path;
  };
  return {
    caCert: put(`${name}.pem`, ca.cert),
    caKey: put(`${name}.key`, ca.key),
    caRoot: put(`${name}-root.pem`, root.cert),
  };
}

async function make(
  name: string,
  keys: webcrypto.CryptoKeyPair,
  issuer: { readonly name: string; readonly keys: webcrypto.CryptoKeyPair },
  options: CaOptions,
): Promise<CompanyCa> {
  const subject = `O=Company, CN=${name}`;
  const { isCa = true, pathLength, usages = KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, purposes } = options;
  const certificate = await X509CertificateGenerator.create({
    serialNumber: (++serials).toString(16),
    subject,
    issuer: issuer.name,
    notBefore: options.notBefore ?? new Date(Date.now() - dayMs),
    notAfter: options.notAfter ?? new Date(Date.now() + 365 * dayMs),
    signingAlgorithm: { hash: 'SHA-256', ...issuer.keys.privateKey.algorithm },
    publicKey: keys.publicKey,
    signingKey: issuer.keys.privateKey,
    extensions: [
      new BasicConstraintsExtension(isCa, pathLength, true),
      new KeyUsagesExtension(usages, true),
      ...(purposes === undefined ? [] : [new ExtendedKeyUsageExtension([...purposes])]),
      options.keyId === undefined
        ? await SubjectKeyIdentifierExtension.create(keys.publicKey)
        : new SubjectKeyIdentifierExtension(options.keyId),
    ],
  });
  return {
    cert: `${certificate.toString('pem')}\n`,
    key: await pemKey(keys.privateKey),
    sign: async (below, wanted = {}) => make(below, await newKeys(wanted.algorithm), { name: subject, keys }, wanted),
  };
}

function newKeys(algorithm: Algorithm = p256): Promise<webcrypto.CryptoKeyPair> {
  return crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']) as Promise<webcrypto.CryptoKeyPair>;
}

async function pemKey(key: CryptoKey): Promise<string> {
  const base64 = Buffer.from(await crypto.subtle.exportKey('pkcs8', key)).toString('base64');
  const lines = base64.match(/.{1,64}/g) ?? [];
  return ['-----BEGIN PRIVATE KEY-----', ...lines, '-----END PRIVATE KEY-----', ''].join('\n');
}
