/** Connections that are to live as long as the traffic: something goes to and fro on each all the time. */
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';

export interface Held {
  readonly open: boolean;
  /** Pieces that came back. */
  readonly echoes: number;
  close(): void;
}

const everyMs = 100;

/** Nothing back for so long: the connection is open and carries nothing. */
const quietMs = 10_000;

export function holdTcp(port: number, failed: (why: string) => void): Held {
  const held = hold(failed);
  const socket = connect(port, '127.0.0.1');
  socket.on('connect', () => held.carry(socket));
  held.watch(socket);
  return held;
}

/** A WebSocket as far as proxies look into it: an upgrade, and then bytes both ways. */
export function holdWebSocket(port: number, host: string, failed: (why: string) => void): Held {
  const held = hold(failed);
  const headers = { host, connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' };
  const asked = request({ host: '127.0.0.1', port, path: '/', agent: false, headers });
  asked.on('upgrade', (_response, socket) => {
    held.watch(socket as Socket);
    held.carry(socket as Socket);
  });
  asked.on('response', (response) => held.end(`status ${response.statusCode} instead of an upgrade`));
  asked.on('error', (error) => held.end(error.message));
  asked.end();
  return held;
}

function hold(failed: (why: string) => void) {
  let open = false;
  let over = false;
  let echoes = 0;
  let lastAt = performance.now();
  let sending: NodeJS.Timeout | undefined;
  let used: Socket | undefined;

  const end = (why: string | undefined): void => {
    if (over) return;
    over = true;
    open = false;
    clearInterval(sending);
    used?.destroy();
    if (why !== undefined) failed(why);
  };

  return {
    get open() {
      return open;
    },
    get echoes() {
      return echoes;
    },
    end,
    watch(socket: Socket) {
      used = socket;
      socket.on('error', (error) => end(error.message));
      socket.on('close', () => end('closed by the other side'));
    },
    carry(socket: Socket) {
      open = true;
      lastAt = performance.now();
      socket.on('data', () => {
        echoes += 1;
        lastAt = performance.now();
      });
      sending = setInterval(() => {
        if (performance.now() - lastAt > quietMs) end('open, but nothing comes back');
        else socket.write('x');
      }, everyMs);
    },
    close: () => end(undefined),
  };
}
