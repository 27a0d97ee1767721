import { request } from 'node:http';
import type { Socket } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { splitHostPort } from '../config/index.ts';
import { type BoundedBytes, bytesTo } from '../lib/bounded-answer.ts';
import { FairwayError, InvariantError } from '../lib/errors.ts';
import { tlsPolicy } from '../lib/tls-files.ts';

/** The REST door of another controller. */
export interface PeerAddress {
  /** `host:port`. */
  readonly address: string;
  /** SHA-256 of the certificate that it must show, as Node writes it; undefined: it speaks in plain text. */
  readonly certificate: string | undefined;
}

export interface PeerPost {
  readonly path: string;
  readonly authorization: string;
  readonly body: Uint8Array;
}

/** What a thousand proxies are told of in is some MB; the status of clients may have 64 MiB, which are 86 as base64. */
const maxReplyBytes = 96 * 1024 * 1024;

/** Posts JSON; rejects when the peer cannot be reached, is another one than it says, or is cut short by `signal`. */
export async function postToPeer(peer: PeerAddress, post: PeerPost, signal: AbortSignal): Promise<BoundedBytes> {
  const at = splitHostPort(peer.address);
  if (at === undefined) throw new InvariantError(`${peer.address} is no host:port`);
  const secured = peer.certificate === undefined ? undefined : await openPinned(at, peer.certificate, signal);
  const asked = request({
    ...at,
    method: 'POST',
    path: post.path,
    signal,
    headers: {
      authorization: post.authorization,
      'content-type': 'application/json',
      'content-length': post.body.byteLength,
      connection: 'close',
    },
    // With an agent, even with none, it would make a connection of its own.
    ...(secured === undefined ? { agent: false } : { createConnection: () => secured as Socket }),
  });
  try {
    return await bytesTo(asked, { body: post.body, maxBytes: maxReplyBytes });
  } finally {
    secured?.destroy();
  }
}

/**
 * Who signed the certificate is no matter, nor which names it has: the controller itself has told which one it shows, in
 * the store, and whoever has its key is that controller.
 */
function openPinned(
  at: { readonly host: string; readonly port: number },
  certificate: string,
  signal: AbortSignal,
): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ ...at, ...tlsPolicy, rejectUnauthorized: false });
    const cut = (): void => void socket.destroy(signal.reason as Error);
    signal.addEventListener('abort', cut, { once: true });
    socket.once('close', () => signal.removeEventListener('abort', cut));
    socket.once('error', reject);
    socket.once('secureConnect', () => {
      if (socket.getPeerX509Certificate()?.fingerprint256 === certificate) {
        socket.off('error', reject);
        // From here on the request hears of it.
        socket.on('error', () => undefined);
        resolve(socket);
      } else {
        socket.destroy(new FairwayError('Unauthenticated', 'asking a controller: it shows another certificate'));
      }
    });
  });
}
