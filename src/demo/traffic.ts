import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { backendHeader } from './backends.ts';

/** What clients of the services do: real requests to Envoy's listeners on 127.0.0.1. */

/** A service on this machine answers within milliseconds; what takes longer has failed. */
const answerLimitMs = 5_000;

export interface Answer {
  readonly status: number;
  /** Name of the backend; undefined when Envoy answered by itself. */
  readonly backend: string | undefined;
  readonly location: string | undefined;
  readonly body: string;
  /** Serial number of the certificate that was shown; undefined without TLS. */
  readonly serial: string | undefined;
}

/** Asks one listener. */
export interface Client {
  /** Rejects when there is no answer. */
  get(host: string, path: string): Promise<Answer>;
  close(): void;
}

export interface ClientOptions {
  readonly port: number;
  /** HTTPS: certificate (PEM) of the authority that must have signed what is shown. */
  readonly trusted?: string;
  /** Connections that are kept open and used again. 0: each request has a connection, and a handshake, of its own. */
  readonly connections: number;
}

export function createClient({ port, trusted, connections }: ClientOptions): Client {
  const pooling = { keepAlive: connections > 0, maxSockets: connections > 0 ? connections : Number.POSITIVE_INFINITY };
  // Without a cache of sessions: a resumed session would show the certificate of the former handshake.
  const agent =
    trusted === undefined ? new HttpAgent(pooling) : new HttpsAgent({ ...pooling, ca: trusted, maxCachedSessions: 0 });
  return {
    get(host, path) {
      const options = { agent, host: '127.0.0.1', port, path, timeout: answerLimitMs };
      return new Promise((resolve, reject) => {
        const request =
          trusted === undefined
            ? httpRequest({ ...options, headers: { host } })
            : httpsRequest({ ...options, headers: { host }, servername: host });
        request.on('timeout', () => request.destroy(new Error(`no answer within ${answerLimitMs / 1000} s`)));
        request.on('error', reject);
        request.on('response', (response) => {
          readAnswer(response).then(resolve, reject);
        });
        request.end();
      });
    },
    close: () => agent.destroy(),
  };
}

async function readAnswer(response: IncomingMessage): Promise<Answer> {
  const { socket } = response;
  const serial = 'getPeerCertificate' in socket ? (socket as TLSSocket).getPeerCertificate().serialNumber : undefined;
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const backend = response.headers[backendHeader];
  return {
    status: response.statusCode ?? 0,
    backend: typeof backend === 'string' ? backend : undefined,
    location: response.headers.location,
    body: Buffer.concat(chunks).toString(),
    serial,
  };
}

/** Sends text over TCP and gives what came back until as much was received. */
export function exchange(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port });
    let received = '';
    socket.setTimeout(answerLimitMs, () => socket.destroy(new Error(`no answer within ${answerLimitMs / 1000} s`)));
    socket.setEncoding('utf8');
    socket.on('connect', () => socket.write(text));
    socket.on('data', (part: string) => {
      received += part;
      if (received.length < text.length) return;
      socket.destroy();
      resolve(received);
    });
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('the connection was closed')));
  });
}
