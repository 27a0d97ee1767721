import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { answerTo } from '../../../src/lib/bounded-answer.ts';

let server: Server;

beforeAll(async () => {
  server = createServer(async (asked, response) => {
    let body = '';
    for await (const chunk of asked) body += chunk;
    if (asked.url === '/cut') {
      response.writeHead(200, { 'content-length': 10 }).write('half', () => response.destroy());
      return;
    }
    response.writeHead(201).write('got ');
    response.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => void server?.close());

const ask = (path: string, body: string | undefined, maxBytes: number) => {
  const { port } = server.address() as AddressInfo;
  return answerTo(request({ host: '127.0.0.1', port, path, method: 'POST', agent: false }), { body, maxBytes });
};

it('gives all of an answer that is within its bound', async () => {
  expect(await ask('/', 'ä', 6)).toEqual({ status: 201, text: 'got ä' });
  expect(await ask('/', undefined, 4)).toEqual({ status: 201, text: 'got ' });
});

it('reads no more than that', async () => {
  await expect(ask('/', 'äö', 6)).rejects.toMatchObject({ code: 'TooLarge', message: expect.stringContaining('6') });
});

it('takes no half of an answer for a whole one', async () => {
  await expect(ask('/cut', 'x', 100)).rejects.toMatchObject({ code: 'ECONNRESET' });
});
