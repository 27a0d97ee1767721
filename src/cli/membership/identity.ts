/**
 * What a node keeps of its membership, in a folder of its own. One file holds all that belongs together, and takes the
 * place of the former one in a single step; what Envoy reads is made from it.
 */
import { randomBytes, X509Certificate } from 'node:crypto';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { isIP } from 'node:net';
import { dirname, join } from 'node:path';
import { controllerUri } from '../../lib/spiffe-id.ts';
import { CliError, exitCodes } from '../failure.ts';
import type { Grant } from './registrar.ts';

export interface Identity extends Grant {
  /** PEM. */
  readonly key: string;
}

/** Names of the files that Envoy reads, and of the secrets in them. */
export const secretFiles = { certificate: 'certificate.sds.json', ca: 'controllers.sds.json' } as const;
export const secretNames = { certificate: 'node', ca: 'controllers' } as const;

const identityFile = 'identity.json';

/** Undefined: there is none. */
export async function loadIdentity(folder: string): Promise<Identity | undefined> {
  const path = join(folder, identityFile);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new CliError(exitCodes.usage, `${path} cannot be read: ${(error as Error).message}`, { cause: error });
  }
  const identity = parse(text);
  if (identity !== undefined) return identity;
  throw new CliError(exitCodes.usage, `${path} is not what Fairway has written`, {
    hint: 'Remove it and join again with a new token.',
  });
}

/** Only this program writes the file: what is looked at is whether it is whole. */
function parse(text: string): Identity | undefined {
  try {
    const identity = JSON.parse(text) as Identity;
    const isWhole = [identity.node, identity.fleet, identity.trustDomain, identity.ca, identity.key].every(
      (field) => typeof field === 'string',
    );
    return isWhole && new X509Certificate(identity.certificate) ? identity : undefined;
  } catch {
    return undefined;
  }
}

/** Writes it, and the files of Envoy, which takes them up by itself. */
export async function saveIdentity(folder: string, identity: Identity): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await replace(folder, identityFile, `${JSON.stringify(identity, undefined, 2)}\n`);
  await writeSecrets(folder, identity);
}

/** From the identity as it stands: the last start may have ended between two files. */
export async function writeSecrets(folder: string, identity: Identity): Promise<void> {
  // Whom to trust comes first: with a new root, controllers may show certificates of either.
  await replace(folder, secretFiles.ca, secretText(secretNames.ca, validationContext(identity)));
  await replace(folder, secretFiles.certificate, secretText(secretNames.certificate, tlsCertificate(identity)));
}

function tlsCertificate({ certificate, key }: Identity) {
  return {
    tls_certificate: { certificate_chain: { inline_string: certificate }, private_key: { inline_string: key } },
  };
}

function validationContext({ ca, trustDomain }: Identity) {
  return {
    validation_context: {
      trusted_ca: { inline_string: ca },
      // Nodes have certificates of the same authority, and must not pass for controllers.
      match_typed_subject_alt_names: [{ san_type: 'URI', matcher: { exact: controllerUri(trustDomain) } }],
    },
  };
}

/** Certificates that others keep in files, and who a controller must be: one of these names or addresses. */
export interface ForeignFiles {
  readonly certificate: string;
  readonly key: string;
  readonly ca: string;
  readonly controllers: readonly string[];
}

/** Writes what Envoy reads when its certificates come from elsewhere: it follows their files by itself. */
export async function writeForeignSecrets(folder: string, files: ForeignFiles): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const { certificate, key, ca, controllers } = files;
  const watched = (path: string) => ({ watched_directory: { path: dirname(path) } });
  const trust = {
    trusted_ca: { filename: ca },
    ...watched(ca),
    match_typed_subject_alt_names: controllers.map((name) => ({ san_type: sanType(name), matcher: { exact: name } })),
  };
  const pair = {
    certificate_chain: { filename: certificate },
    private_key: { filename: key },
    ...watched(certificate),
  };
  await replace(folder, secretFiles.ca, secretText(secretNames.ca, { validation_context: trust }));
  await replace(folder, secretFiles.certificate, secretText(secretNames.certificate, { tls_certificate: pair }));
}

function sanType(name: string): 'URI' | 'IP_ADDRESS' | 'DNS' {
  if (name.includes('://')) return 'URI';
  return isIP(name) === 0 ? 'DNS' : 'IP_ADDRESS';
}

function secretText(name: string, content: object): string {
  const type = 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret';
  return `${JSON.stringify({ resources: [{ '@type': type, name, ...content }] })}\n`;
}

/** Written aside and moved into its place, which is also what Envoy watches for. Nobody else may read it. */
async function replace(folder: string, name: string, text: string): Promise<void> {
  const aside = join(folder, `.${name}.${randomBytes(4).toString('hex')}`);
  try {
    const file = await open(aside, 'wx', 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(aside, join(folder, name));
  } catch (cause) {
    await rm(aside, { force: true });
    throw new CliError(exitCodes.refused, `${join(folder, name)} cannot be written: ${(cause as Error).message}`, {
      cause,
    });
  }
}
