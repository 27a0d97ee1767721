import { connect } from 'node:net';
import fastify from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { openRestDoor } from '../../src/server/rest-door.ts';
import { until } from '../support/until.ts';

test('a door that closes while an answer is being written does not wait for its client to go', async () => {
  const app = fastify();
  const begun = Promise.withResolvers<void>();
  const rest = Promise.withResolvers<void>();
  app.get('/', async (_request, reply) => {
    reply.hijack();
    reply.raw.writeHead(200, { 'content-length': 4 }).write('be');
    begun.resolve();
    await rest.promise;
    reply.raw.end('en');
  });
  const door = await openRestDoor(app, { listen: '127.0.0.1:0', tokenFile: undefined, env: {} });
  const client = connect(Number(door.address.split(':').at(-1)), '127.0.0.1');
  onTestFinished(() => void client.destroy());
  let answer = '';
  client.setEncoding('utf8').on('data', (text: string) => (answer += text));
  const ended = new Promise((resolve) => client.once('end', resolve));
  client.write('GET / HTTP/1.1\r\nhost: door.test\r\n\r\n');
  await begun.promise;
  const closed = door.close();
  await until('the door to be shut', () => !app.server.listening);
  rest.resolve();
  // Without an end of it from this side.
  await closed;
  await ended;
  expect(answer.slice(-4)).toBe('been');
});
