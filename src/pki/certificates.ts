// Metadata of decorators, which @peculiar/x509 needs to find in place.
import 'reflect-metadata';
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  webcrypto,
} from 'node:crypto';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type Extension,
  type JsonGeneralName,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  type X509Certificate,
  X509CertificateGenerator,
  X509Certificate as X509CertificateOf,
} from '@peculiar/x509';
import { webKeysOf } from '../lib/certificate-request.ts';
import { FairwayError, InvariantError } from '../lib/errors.ts';
import { controllerUri, formatNodeId } from '../lib/spiffe-id.ts';

/** A root of an authority with its key, both PEM. */
export interface Root {
  readonly id: string;
  readonly certificate: string;
  readonly key: string;
}

/** What signs: a root, or a CA below one, whose certificate and key these are then. */
export interface Signer {
  /** Of the root: that which whoever checks a signature has to trust. */
  readonly id: string;
  /** PEM. */
  readonly certificate: string;
  readonly key: string;
  /** PEM: what is sent after each certificate that it signs, so that the root is found; absent: the root signs itself. */
  readonly chain?: string;
  /** When the first certificate of its chain ends, milliseconds since 1970; absent: when its own one does. */
  readonly until?: number;
}

/** What was signed. */
export interface Issued {
  /** PEM, with the CAs between it and the root. */
  readonly certificate: string;
  /** Hexadecimal. */
  readonly serial: string;
  /** Milliseconds since 1970. */
  readonly notAfter: number;
}

export interface NodeSubject {
  readonly trustDomain: string;
  readonly fleet: string;
  /** Name of the Node object, and its uid. */
  readonly node: string;
  readonly uid: string;
}

export interface ControllerSubject {
  readonly trustDomain: string;
  /** Host names and addresses by which it is reached. */
  readonly hosts: readonly { readonly type: 'dns' | 'ip'; readonly value: string }[];
}

/** `lifeMs` counts from `now`; a certificate never outlives those that sign. */
export interface Validity {
  readonly now: number;
  readonly lifeMs: number;
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

/** Long enough that nobody waits for its end, since a root is replaced by a rotation and not by its expiry. */
const rootLifeMs = 10 * 365 * 86_400_000;
/** Clocks of nodes may be late by so much, but no more than a certificate lives. */
const clockSkewMs = 5 * 60_000;

/** A new key, PEM. */
export function createKey(): string {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString();
}

/** A new self-signed root; its name has its id, so that two roots are never taken for one. */
export async function createRoot(trustDomain: string, now: number): Promise<Root> {
  const id = randomBytes(4).toString('hex');
  const key = createKey();
  const keys = await webKeysOf(key);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: randomBytes(16).toString('hex'),
    name: [{ O: [trustDomain] }, { CN: [`Fairway CA ${id}`] }],
    notBefore: new Date(now - clockSkewMs),
    notAfter: new Date(now + rootLifeMs),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { id, certificate: pem(certificate), key };
}

/** For a client: the URI says which node of which fleet, the DNS name what it is called. */
export function issueToNode(
  signer: Signer,
  publicKey: KeyObject,
  subject: NodeSubject,
  validity: Validity,
): Promise<Issued> {
  const { trustDomain, fleet, node, uid } = subject;
  const names: JsonGeneralName[] = [
    { type: 'url', value: formatNodeId({ trustDomain, fleet, id: uid }) },
    { type: 'dns', value: node },
  ];
  return issue(signer, publicKey, { commonName: node, names, usages: [ExtendedKeyUsage.clientAuth] }, validity);
}

/** For a server: nodes look at the URI alone, since controllers come and go with their addresses. */
export function issueToController(
  signer: Signer,
  publicKey: KeyObject,
  { trustDomain, hosts }: ControllerSubject,
  validity: Validity,
): Promise<Issued> {
  const names: JsonGeneralName[] = [{ type: 'url', value: controllerUri(trustDomain) }, ...hosts];
  const usages = [ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth];
  return issue(signer, publicKey, { commonName: 'Fairway controller', names, usages }, validity);
}

/** When what signs ends itself, milliseconds since 1970. */
export function endOf({ certificate, until }: Signer): number {
  return until ?? new X509CertificateOf(certificate).notAfter.getTime();
}

async function issue(
  signer: Signer,
  publicKey: KeyObject,
  wanted: { readonly commonName: string; readonly names: JsonGeneralName[]; readonly usages: ExtendedKeyUsage[] },
  { now, lifeMs }: Validity,
): Promise<Issued> {
  const issuer = new X509CertificateOf(signer.certificate);
  const end = endOf(signer);
  if (end <= now) {
    throw new FairwayError('NotReady', `signing: the CA that signs has expired at ${new Date(end).toISOString()}`);
  }
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const subjectKey = await webcrypto.subtle.importKey('spki', spki, importAlgorithm(publicKey), true, ['verify']);
  const notAfter = Math.min(now + lifeMs, end);
  const extensions: Extension[] = [
    new BasicConstraintsExtension(false, undefined, true),
    new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
    new ExtendedKeyUsageExtension(wanted.usages),
    new SubjectAlternativeNameExtension(wanted.names),
    await SubjectKeyIdentifierExtension.create(subjectKey),
    await issuerKeyId(issuer),
  ];
  const signing = await signingKeyOf(signer.key);
  const certificate = await X509CertificateGenerator.create({
    serialNumber: randomBytes(16).toString('hex'),
    subject: [{ CN: [wanted.commonName] }],
    // Byte for byte: not everybody takes names for the same that are written in another way.
    issuer: issuer.subjectName,
    notBefore: new Date(now - Math.min(clockSkewMs, lifeMs)),
    notAfter: new Date(notAfter),
    signingAlgorithm: signing.algorithm,
    publicKey: subjectKey,
    signingKey: signing.key,
    extensions,
  });
  // Certificates know whole seconds.
  const { serialNumber } = certificate;
  return {
    certificate: pem(certificate) + (signer.chain ?? ''),
    serial: serialNumber,
    notAfter: certificate.notAfter.getTime(),
  };
}

/** As the issuer itself calls its key: CAs from outside may have names for keys that are made in another way than ours. */
async function issuerKeyId(issuer: X509Certificate): Promise<Extension> {
  const named = issuer.getExtension(SubjectKeyIdentifierExtension);
  return named === null
    ? AuthorityKeyIdentifierExtension.create(issuer.publicKey)
    : new AuthorityKeyIdentifierExtension(named.keyId);
}

/** Curves by OpenSSL's names: what Web Cryptography calls them, and the hash that is as strong. */
const curves: Readonly<Record<string, { readonly namedCurve: string; readonly hash: string }>> = {
  prime256v1: { namedCurve: 'P-256', hash: 'SHA-256' },
  secp384r1: { namedCurve: 'P-384', hash: 'SHA-384' },
  secp521r1: { namedCurve: 'P-521', hash: 'SHA-512' },
};

/** Of a key that {@link readRequest}, or {@link readSigner}, has let through. */
function importAlgorithm(key: KeyObject) {
  if (key.asymmetricKeyType === 'rsa') return { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
  const curve = curves[key.asymmetricKeyDetails?.namedCurve ?? ''];
  if (curve === undefined) throw new InvariantError('signing: a key of this kind was not let through');
  return { name: 'ECDSA', ...curve };
}

async function signingKeyOf(text: string) {
  const privateKey = createPrivateKey(text);
  const pkcs8 = privateKey.export({ type: 'pkcs8', format: 'der' });
  const signs = importAlgorithm(createPublicKey(privateKey));
  return { algorithm: signs, key: await webcrypto.subtle.importKey('pkcs8', pkcs8, signs, false, ['sign']) };
}

function pem(certificate: X509Certificate): string {
  return `${certificate.toString('pem')}\n`;
}
