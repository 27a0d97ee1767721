/** How an Envoy of this machine gets an identity and keeps it. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { backoffMs } from '../../lib/backoff.ts';
import { parseJoinToken } from '../../lib/join-token.ts';
import { CliError, exitCodes, usageError } from '../failure.ts';
import { type Identity, loadIdentity, saveIdentity, writeSecrets } from './identity.ts';
import {
  fetchTrust,
  isLoopbackServer,
  join,
  MembershipRefused,
  pinnedIn,
  type RestServer,
  renew,
  UntrustedServer,
} from './registrar.ts';

export interface EnrolOptions {
  readonly folder: string;
  readonly server: RestServer;
  /** Needed once. */
  readonly token: string | undefined;
  /** What the node is meant to be; undefined: whatever the token says. */
  readonly node: string | undefined;
  readonly fleet: string | undefined;
  /** Send the token in plain text beyond this machine. */
  readonly insecure: boolean;
  readonly now: number;
}

/**
 * The identity in the folder while it is good, else a new one for the token; undefined without either, when this node is
 * no member of anything.
 */
export async function enrol(options: EnrolOptions): Promise<Identity | undefined> {
  const { folder, token, node, fleet } = options;
  const present = await loadIdentity(folder);
  if (present !== undefined) {
    if (Date.parse(present.notAfter) > options.now) {
      assertMeant(present, { node, fleet, folder });
      // The last start may have ended before all of them were written.
      await writeSecrets(folder, present);
      return present;
    }
    if (token === undefined) {
      throw new CliError(exitCodes.refused, `The certificate in ${folder} has expired`, {
        hint: `Make a token with "fairway token create --node ${present.node} --fleet ${present.fleet}" and join again.`,
      });
    }
  }
  if (token === undefined) return undefined;
  const identity = await joinWith(token, options);
  await saveIdentity(folder, identity);
  return identity;
}

function assertMeant(
  present: Identity,
  { node, fleet, folder }: Pick<EnrolOptions, 'node' | 'fleet' | 'folder'>,
): void {
  if ((node ?? present.node) === present.node && (fleet ?? present.fleet) === present.fleet) return;
  throw usageError(
    `${folder} has the identity of the node ${present.node} of the fleet ${present.fleet}`,
    'Name another folder with --identity, or remove this one.',
  );
}

async function joinWith(text: string, { server, node, fleet, insecure }: EnrolOptions): Promise<Identity> {
  const token = parseJoinToken(text);
  if (token === undefined) throw usageError('The join token is not whole', 'It looks like fwj1.ID.SECRET.PIN.');
  if (server.url.startsWith('http:') && !insecure && !isLoopbackServer(server.url)) {
    throw usageError(
      `A token that is sent to ${server.url} can be read on the way`,
      'Reach the server by https, or say --insecure.',
    );
  }
  const trust = await fetchTrust(server, token);
  const { createKeyAndRequest } = await requests();
  const { key, request } = await createKeyAndRequest(node ?? 'node');
  const asked = {
    token: text.trim(),
    request,
    ...(node === undefined ? {} : { node }),
    ...(fleet === undefined ? {} : { fleet }),
  };
  // With the same key each time: that an answer was lost does not cost the token.
  const identity = { ...(await insist(() => join(server, asked, trust))), key };
  pinnedIn(identity.ca, token);
  assertFits(identity);
  return identity;
}

/** A controller that restarts, or lags, is there again within seconds. */
const joinAttempts = 5;
const joinRetry = { baseMs: 500, maxMs: 4_000 } as const;

async function insist<T>(attempt: () => Promise<T>): Promise<T> {
  for (let count = 1; ; count += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (error instanceof MembershipRefused || error instanceof UntrustedServer || count === joinAttempts) throw error;
      await sleep(backoffMs(count - 1, { ...joinRetry, random: Math.random() }));
    }
  }
}

/** What makes requests takes longer to load than the rest of the command line, and is seldom needed. */
function requests() {
  return import('../../lib/certificate-request.ts');
}

/** The next identity for the present one, stored. The key is a new one each time. */
export async function renewIdentity(folder: string, server: RestServer, present: Identity): Promise<Identity> {
  const { createKeyAndRequest, proveRenewal } = await requests();
  const { key, request } = await createKeyAndRequest(present.node);
  const proof = proveRenewal(present.key, request);
  const grant = await renew(server, { certificate: present.certificate, request, proof }, present);
  const identity = { ...grant, key };
  assertFits(identity);
  await saveIdentity(folder, identity);
  return identity;
}

/** With a certificate for another key, Envoy would have none at all. */
function assertFits({ certificate, key }: Identity): void {
  let fits = false;
  try {
    fits = new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
  } catch {
    // It is none.
  }
  if (!fits)
    throw new CliError(exitCodes.unreachable, 'The certificate that the server sent is not for the key of this node');
}
