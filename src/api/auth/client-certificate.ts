import { type DetailedPeerCertificate, type PeerCertificate, TLSSocket } from 'node:tls';
import type { Identity } from '../../access/index.ts';
import type { Clock } from '../../lib/clock.ts';
import { err, ok } from '../../lib/result.ts';
import type { Login } from './credential.ts';

/** Whether the connection has shown a certificate at all. */
export function hasCertificate(socket: unknown): socket is TLSSocket {
  return socket instanceof TLSSocket && Object.keys(socket.getPeerCertificate() ?? {}).length > 0;
}

/** Who is at the other end, by the certificate that they have shown. One per API. */
export interface ClientCertificates {
  check(socket: TLSSocket): Login;
}

/**
 * `isCurrent` says whether a connection was verified by the CAs that count now: one that was made before they were
 * replaced has to be made anew.
 */
export function createClientCertificates(isCurrent: (socket: TLSSocket) => boolean, clock: Clock): ClientCertificates {
  /** A connection does not change its certificate, and reading it takes longer than the rest of a request. */
  const known = new WeakMap<TLSSocket, Login>();

  function read(socket: TLSSocket): Login {
    if (!socket.authorized) return err({ means: 'certificate', fault: 'untrusted', detail: reasonOf(socket) });
    const certificate = socket.getPeerCertificate();
    const identity = identityOf(certificate);
    if (identity === undefined) return err({ means: 'certificate', fault: 'no-name' });
    const expiresAt = Date.parse(certificate.valid_to);
    return ok({ identity, expiresAt, holds: () => clock() < expiresAt && isCurrent(socket) });
  }

  return {
    check(socket) {
      let login = known.get(socket);
      if (login === undefined) {
        login = read(socket);
        known.set(socket, login);
      }
      if (!login.ok || login.value.holds()) return login;
      const isOld = login.value.expiresAt !== undefined && clock() >= login.value.expiresAt;
      return err({ means: 'certificate', fault: isOld ? 'expired' : 'untrusted' });
    },
  };
}

function reasonOf({ authorizationError }: TLSSocket): string {
  const error: unknown = authorizationError;
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}

/** Longest name and group, as in a RoleBinding. */
const maxChars = 256;

/**
 * The common name and the organizations, as it is custom; without a common name the first alternative name that is an
 * address of mail, a URI or a DNS name. Two common names are none: nobody could say which one counts.
 */
export function identityOf({
  subject,
  subjectaltname,
}: Pick<PeerCertificate | DetailedPeerCertificate, 'subject' | 'subjectaltname'>): Identity | undefined {
  const { CN: name, O: organizations } = (subject ?? {}) as Readonly<Record<string, string | string[] | undefined>>;
  if (Array.isArray(name)) return undefined;
  const chosen = name ?? /(?:^|, )(?:email|URI|DNS):([^,"]+)/.exec(subjectaltname ?? '')?.[1];
  if (chosen === undefined || !isName(chosen)) return undefined;
  const groups = [organizations ?? []].flat().filter(isName);
  return { name: chosen, kind: 'certificate', groups };
}

function isName(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose
  return text !== '' && text.length <= maxChars && text === text.trim() && !/[\u0000-\u001f\u007f]/.test(text);
}
