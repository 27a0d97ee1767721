// Metadata of decorators, which @peculiar/x509 needs to find in place.
import 'reflect-metadata';
import { generateKeyPairSync, type KeyObject, randomBytes, webcrypto } from 'node:crypto';
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
import { controllerUri, formatNodeId } from '../lib/spiffe-id.ts';

/** A root of an authority with its key, both PEM. */
export interface Root {
  readonly id: string;
  readonly certificate: string;
  readonly key: string;
}

/** What was signed. */
export interface Issued {
  /** PEM. */
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

/** `lifeMs` counts from `now`; a certificate never outlives its root. */
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
  root: Root,
  publicKey: KeyObject,
  subject: NodeSubject,
  validity: Validity,
): Promise<Issued> {
  const { trustDomain, fleet, node, uid } = subject;
  const names: JsonGeneralName[] = [
    { type: 'url', value: formatNodeId({ trustDomain, fleet, id: uid }) },
    { type: 'dns', value: node },
  ];
  return issue(root, publicKey, { commonName: node, names, usages: [ExtendedKeyUsage.clientAuth] }, validity);
}

/** For a server: nodes look at the URI alone, since controllers come and go with their addresses. */
export function issueToController(
  root: Root,
  publicKey: KeyObject,
  { trustDomain, hosts }: ControllerSubject,
  validity: Validity,
): Promise<Issued> {
  const names: JsonGeneralName[] = [{ type: 'url', value: controllerUri(trustDomain) }, ...hosts];
  const usages = [ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth];
  return issue(root, publicKey, { commonName: 'Fairway controller', names, usages }, validity);
}

async function issue(
  root: Root,
  publicKey: KeyObject,
  wanted: { readonly commonName: string; readonly names: JsonGeneralName[]; readonly usages: ExtendedKeyUsage[] },
  { now, lifeMs }: Validity,
): Promise<Issued> {
  const issuer = new X509CertificateOf(root.certificate);
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const subjectKey = await webcrypto.subtle.importKey('spki', spki, importAlgorithm(publicKey), true, ['verify']);
  const notAfter = Math.min(now + lifeMs, issuer.notAfter.getTime());
  const extensions: Extension[] = [
    new BasicConstraintsExtension(false, undefined, true),
    new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
    new ExtendedKeyUsageExtension(wanted.usages),
    new SubjectAlternativeNameExtension(wanted.names),
    await SubjectKeyIdentifierExtension.create(subjectKey),
    await AuthorityKeyIdentifierExtension.create(issuer.publicKey),
  ];
  const certificate = await X509CertificateGenerator.create({
    serialNumber: randomBytes(16).toString('hex'),
    subject: [{ CN: [wanted.commonName] }],
    issuer: issuer.subjectName.toJSON(),
    notBefore: new Date(now - Math.min(clockSkewMs, lifeMs)),
    notAfter: new Date(notAfter),
    signingAlgorithm: algorithm,
    publicKey: subjectKey,
    signingKey: (await webKeysOf(root.key)).privateKey,
    extensions,
  });
  // Certificates know whole seconds.
  const { serialNumber } = certificate;
  return { certificate: pem(certificate), serial: serialNumber, notAfter: certificate.notAfter.getTime() };
}

/** Of a key that {@link readRequest} has let through. */
function importAlgorithm(key: KeyObject) {
  if (key.asymmetricKeyType === 'rsa') return { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
  return { name: 'ECDSA', namedCurve: key.asymmetricKeyDetails?.namedCurve === 'secp384r1' ? 'P-384' : 'P-256' };
}

function pem(certificate: X509Certificate): string {
  return `${certificate.toString('pem')}\n`;
}
