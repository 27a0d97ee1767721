/** One request each, in the ways that clients make them. Each rejects with words when no whole answer came. */
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import { connect as connectTls, type TLSSocket } from 'node:tls';

/** Asks a host for `/`; gives the status. */
export type Ask = (host: string) => Promise<number>;

const address = '127.0.0.1';

/** An answer that takes longer never comes. */
const limitMs = 10_000;

/** HTTP/1.1 over kept connections. */
export function createHttp1(port: number): { ask: Ask; close(): void } {
  const agent = new Agent({ keepAlive: true, maxSockets: 64, scheduling: 'fifo' });
  return {
    ask: (host) => statusOf(request({ host: address, port, agent, headers: { host }, timeout: limitMs })),
    close: () => agent.destroy(),
  };
}

function statusOf(asked: ClientRequest): Promise<number> {
  return new Promise((resolve, reject) => {
    asked.on('response', (response: IncomingMessage) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode ?? 0));
      response.on('error', reject);
    });
    asked.on('error', reject);
    asked.on('timeout', () => asked.destroy(new Error('no answer in time')));
    asked.end();
  });
}

/** Sessions that share the requests: a proxy has more than one client. */
const sessions = 4;

/** HTTP/2 with prior knowledge, many requests to a session. */
export function createHttp2(port: number): { ask: Ask; close(): void } {
  const open: (ClientHttp2Session | undefined)[] = Array.from({ length: sessions });
  let turn = 0;
  const session = (): ClientHttp2Session => {
    turn = (turn + 1) % sessions;
    const present = open[turn];
    // After a GOAWAY what runs may end, and the next request begins a new session.
    if (present !== undefined && !present.closed && !present.destroyed) return present;
    const fresh = connect(`http://${address}:${port}`);
    fresh.on('error', () => undefined);
    fresh.on('goaway', () => fresh.close());
    open[turn] = fresh;
    return fresh;
  };
  return {
    ask: (host) => statusOfStream(session(), host),
    close() {
      for (const one of open) one?.close();
    },
  };
}

function statusOfStream(session: ClientHttp2Session, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const stream: ClientHttp2Stream = session.request({ ':path': '/', ':authority': host });
    let status = 0;
    stream.setTimeout(limitMs, () => stream.destroy(new Error('no answer in time')));
    stream.on('response', (headers) => {
      status = Number(headers[':status']);
    });
    stream.on('error', reject);
    stream.on('close', () => {
      if (stream.rstCode !== 0) reject(new Error(`stream reset with code ${stream.rstCode}`));
      else if (status === 0) reject(new Error('the session ended without an answer'));
      else resolve(status);
    });
    stream.resume();
    stream.end();
  });
}

type AskTls = (
  host: string,
  protocol: 'http/1.1' | 'h2',
) => Promise<{ readonly status: number; readonly serial: string }>;

/** HTTPS with a handshake of its own, whose certificate is checked. */
export function createHttps(port: number, ca: string): AskTls {
  return async (host, protocol) => {
    const socket = await handshake(port, host, ca, protocol);
    try {
      const serial = socket.getPeerCertificate().serialNumber;
      if (protocol === 'http/1.1') {
        // Without an agent, which would make a connection of its own.
        const asked = request({ createConnection: () => socket, headers: { host, connection: 'close' } });
        return { status: await statusOf(asked), serial };
      }
      const session = connect(`https://${host}`, { createConnection: () => socket });
      session.on('error', () => undefined);
      const status = await statusOfStream(session, host);
      session.close();
      return { status, serial };
    } finally {
      socket.destroySoon();
    }
  };
}

function handshake(port: number, servername: string, ca: string, protocol: string): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ host: address, port, servername, ca, ALPNProtocols: [protocol] });
    socket.setTimeout(limitMs, () => socket.destroy(new Error('no handshake in time')));
    socket.once('error', reject);
    socket.once('secureConnect', () => {
      socket.setTimeout(0);
      socket.off('error', reject);
      socket.on('error', () => undefined);
      resolve(socket);
    });
  });
}
