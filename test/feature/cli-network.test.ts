import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createClient } from '../../src/cli/client.ts';
import { runHere } from '../support/command-line.ts';
import { until } from '../support/until.ts';

// What comes over the wire when all is not well, from a server that plays the part.

const open: Server[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

type Play = (request: IncomingMessage, response: ServerResponse) => void;

async function serve(play: Play): Promise<string> {
  const server = createServer(play);
  open.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const answer = (response: ServerResponse, status: number, body: unknown, type = 'application/json'): void => {
  response.writeHead(status, { 'content-type': type });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
};

const pool = (name: string, revision: string, members = 0) => ({
  apiVersion: 'fairway/v1',
  kind: 'BackendPool',
  metadata: { name, scope: 'default', revision },
  spec: { members: Array.from({ length: members }, () => ({})) },
});

const list = (revision: string, items: readonly object[], next?: string) => ({
  metadata: { revision, continue: next },
  items,
});

describe('an answer', () => {
  const cases: readonly [name: string, status: number, body: unknown, code: number, words: RegExp][] = [
    [
      'of something else than Fairway',
      502,
      '<html>bad gateway</html>',
      3,
      /status 502, but not as a Fairway server does/,
    ],
    ['that is no JSON', 200, 'hello', 3, /not as a Fairway server does/],
    ['that it is not ready', 503, { title: 'x', detail: 'serving: the first build' }, 3, /the first build/],
    ['that it took too long there', 504, { code: 'RevisionTimeout', title: 'x', detail: 'too late' }, 4, /too late/],
    ['that it is not allowed', 401, { title: 'Who are you?' }, 1, /set FAIRWAY_TOKEN/],
    ['of a newer server', 418, { code: 'Teapot', title: 'A teapot' }, 1, /A teapot/],
    [
      'with faults and escape sequences',
      422,
      { title: 'x', detail: 'a\u001b[31mb', errors: [{ pointer: '/spec/x', message: 'is odd' }], requestId: 'r-1' },
      1,
      /ab\n {2}\/spec\/x is odd\nRequest r-1\./,
    ],
  ];
  it.each(cases)('%s', async (_name, status, body, code, words) => {
    const url = await serve((_request, response) => answer(response, status, body));
    const ran = await runHere(['get', 'pools'], { env: { FAIRWAY_SERVER: url } });
    expect(ran).toMatchObject({ code, out: '' });
    expect(ran.err).toMatch(words);
  });

  it('that never comes ends in time', async () => {
    const url = await serve(() => undefined);
    const client = createClient(
      { server: url, token: undefined, scope: undefined, origin: 'test' },
      { userAgent: 'test', timeoutMs: 50 },
    );
    await expect(client.request('GET', '/v1/scopes')).rejects.toMatchObject({ exitCode: 4 });
  });

  it('that breaks off in the middle is none', async () => {
    const url = await serve((_request, response) => {
      response.writeHead(200, { 'content-length': '1000' });
      response.write('{"metadata":');
      response.socket?.destroy();
    });
    expect(await runHere(['get', 'pools'], { env: { FAIRWAY_SERVER: url } })).toMatchObject({ code: 3, out: '' });
  });
});

describe('a request', () => {
  it('carries the token, and not to where an answer points', async () => {
    const seen: (string | undefined)[] = [];
    const elsewhere = await serve((request, response) => {
      seen.push(`elsewhere ${request.headers.authorization}`);
      answer(response, 200, list('1', []));
    });
    const url = await serve((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(307, { location: `${elsewhere}${request.url}` });
      response.end();
    });
    const ran = await runHere(['get', 'pools'], { env: { FAIRWAY_SERVER: url, FAIRWAY_TOKEN: 'abc' } });
    expect(ran.code).toBe(3);
    expect(seen).toEqual(['Bearer abc']);
  });

  it('asks for every page, with the same selection', async () => {
    const asked: string[] = [];
    const url = await serve((request, response) => {
      const query = new URL(request.url ?? '', 'http://x').searchParams;
      asked.push(`${query.get('scope')} ${query.get('labelSelector')} ${query.get('continue')}`);
      if (query.get('continue') === null) answer(response, 200, list('5', [pool('a', '1')], 'more'));
      else answer(response, 200, list('6', [pool('b', '2')]));
    });
    const { out } = await runHere(['get', 'pools', '-l', 'x=y', '-n', 'team', '-o', 'name'], {
      env: { FAIRWAY_SERVER: url },
    });
    expect(out).toBe('backend-pool/a\nbackend-pool/b\n');
    expect(asked).toEqual(['team x=y null', 'team x=y more']);
  });
});

describe('a watch', () => {
  it('goes on where it was when the connection breaks, and lists anew when that is too long ago', async () => {
    const watches: (string | null)[] = [];
    let lists = 0;
    const url = await serve((request, response) => {
      const query = new URL(request.url ?? '', 'http://x').searchParams;
      if (query.get('watch') === null) {
        lists++;
        answer(response, 200, lists === 1 ? list('10', [pool('a', '10', 1)]) : list('90', [pool('a', '88', 4)]));
        return;
      }
      watches.push(query.get('after'));
      const event = (type: string, object: object) => `${JSON.stringify({ type, object })}\n`;
      if (watches.length === 2) {
        answer(response, 410, { code: 'RevisionCompacted', title: 'x' });
        return;
      }
      response.writeHead(200, { 'content-type': 'application/x-ndjson' });
      if (watches.length === 1) {
        const events = [
          event('put', pool('a', '12', 2)),
          event('bookmark', { metadata: { revision: '20' } }),
          // Status alone: with the revision of the object.
          event('put', pool('a', '12', 3)),
        ];
        response.write(events.join(''), () => response.socket?.destroy());
      }
    });
    const end = new AbortController();
    let seen = '';
    const watching = runHere(['get', 'pools', '-w', '--no-headers'], {
      env: { FAIRWAY_SERVER: url },
      signal: end.signal,
      onOutput(out) {
        seen = out;
      },
    });
    await until('the third watch', () => watches.length >= 3, { describe: () => [watches, seen] });
    end.abort();
    const { code, err } = await watching;
    expect(code).toBe(0);
    expect(watches.slice(0, 3)).toEqual(['10', '20', '90']);
    const members = seen.split('\n').map((line) => line.split(/ +/)[1]);
    expect(members).toEqual(['1', '2', '3', '4', undefined]);
    expect(err).toMatch(/^No server can be reached at .*; trying again\n$/);
  });
});
