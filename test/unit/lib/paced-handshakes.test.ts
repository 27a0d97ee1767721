import { EventEmitter, once } from 'node:events';
import { type AddressInfo, connect as connectTcp, type Server, type Socket } from 'node:net';
import { connect, createServer } from 'node:tls';
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { paceHandshakes } from '../../../src/lib/paced-handshakes.ts';
import { createTestAuthority } from '../../support/test-authority.ts';

class FakeSocket extends EventEmitter {
  destroyed = false;
}

describe('connections that come at once', () => {
  afterEach(() => void vi.useRealTimers());

  function paced() {
    vi.useFakeTimers();
    const server = new EventEmitter();
    const begun: unknown[] = [];
    server.on('connection', (socket) => begun.push(socket));
    paceHandshakes(server as Server);
    const sockets = Array.from({ length: 4 }, () => new FakeSocket());
    return { server, begun, sockets };
  }

  test('begin one by one, in their order, the first at once', () => {
    const { server, begun, sockets } = paced();
    for (const socket of sockets) server.emit('connection', socket);
    expect(begun).toEqual(sockets.slice(0, 1));
    vi.advanceTimersByTime(1);
    expect(begun).toEqual(sockets.slice(0, 2));
    vi.advanceTimersByTime(10);
    expect(begun).toEqual(sockets);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('begin at once again after a rest', () => {
    const { server, begun, sockets } = paced();
    server.emit('connection', sockets[0]);
    server.emit('connection', sockets[1]);
    vi.advanceTimersByTime(10);
    server.emit('connection', sockets[2]);
    expect(begun).toEqual(sockets.slice(0, 3));
  });

  test('do not begin when they are gone, and may fail while they wait', () => {
    const { server, begun, sockets } = paced();
    for (const socket of sockets) server.emit('connection', socket);
    const [first, second, third, fourth] = sockets;
    for (const gone of [second, third]) {
      gone?.emit('error', new Error('reset'));
      if (gone !== undefined) gone.destroyed = true;
    }
    vi.advanceTimersByTime(1);
    expect(begun).toEqual([first, fourth]);
  });

  test('are on their own with their errors once they have begun', () => {
    const { server, sockets } = paced();
    server.emit('connection', sockets[0]);
    expect(sockets[0]?.listenerCount('error')).toBe(0);
  });
});

describe('a server', () => {
  let pair: { readonly cert: string; readonly key: string };
  let ca: string;
  beforeAll(async () => {
    const authority = await createTestAuthority('CA of a test');
    ca = authority.ca;
    pair = await authority.issue('CN=server');
  });

  test('serves all of many that come at once, whoever else never speaks', async () => {
    const server = createServer(pair, (socket) => socket.end('hello'));
    paceHandshakes(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const silent: Socket[] = Array.from({ length: 20 }, () => connectTcp(port, '127.0.0.1'));
    const texts = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const socket = connect({ port, host: '127.0.0.1', ca });
        const [bytes] = await once(socket, 'data');
        socket.destroy();
        return String(bytes);
      }),
    );
    expect(texts).toEqual(Array.from({ length: 20 }, () => 'hello'));
    for (const socket of silent) socket.destroy();
    server.close();
    await once(server, 'close');
  });
});
