import { request } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { type Guarded, startGuarded } from '../support/guarded.ts';
import { until } from '../support/until.ts';

// Floods from loopback, each with a bound, of what one identity or one peer may take; and others who are served on.

const open: Guarded[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

async function start(config: Parameters<typeof startGuarded>[0] = {}): Promise<Guarded> {
  const server = await startGuarded(config);
  open.push(server);
  return server;
}

const whoami = (server: Guarded, token: string) => server.call(token, 'GET', '/v1/whoami');

describe('requests', () => {
  it('of one identity have a measure, and those of another are answered', async () => {
    const server = await start({ requestsPerSecond: 20 });
    const [greedy, modest] = [await server.mint('greedy'), await server.mint('modest')];
    await whoami(server, modest.token);
    const answers = await Promise.all(Array.from({ length: 200 }, () => whoami(server, greedy.token)));
    const refused = answers.filter(({ status }) => status === 429);
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(40);
    expect(refused.length).toBeGreaterThan(50);
    for (const { body, headers } of refused) {
      expect(body.code).toBe('TooManyRequests');
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    }
    expect((await whoami(server, modest.token)).status).toBe(200);
    await until('the greedy one to be served again', async () => (await whoami(server, greedy.token)).status === 200);
  });

  it('of one name count together, whichever token they come with', async () => {
    const server = await start({ requestsPerSecond: 5 });
    const tokens = [await server.mint('twin'), await server.mint('twin')];
    const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => whoami(server, tokens[i % 2]?.token ?? '')));
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThan(20);
  });
});

describe('watches', () => {
  it('of one identity have a measure, and those of another are opened', async () => {
    const server = await start({ watchesPerIdentity: 3 });
    const [greedy, modest] = [await server.mint('greedy'), await server.mint('modest')];
    const subjects = [{ token: 'greedy' }, { token: 'modest' }];
    await server.bind('readers', { subjects, role: 'viewer', scopes: ['*'] });
    const ended = new AbortController();
    const watch = (token: string) =>
      fetch(`${server.url}/v1/scopes?watch=true`, {
        headers: { authorization: `Bearer ${token}` },
        signal: ended.signal,
      });
    const first = await watch(greedy.token);
    const more = await Promise.all(Array.from({ length: 20 }, () => watch(greedy.token)));
    const statuses = [first, ...more].map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(3);
    expect(statuses.filter((status) => status === 429)).toHaveLength(18);
    expect((await watch(modest.token)).status).toBe(200);
    ended.abort();
    const again = async () => {
      const answer = await server.call(greedy.token, 'GET', '/v1/scopes?watch=true&after=999999999');
      return answer.status !== 429;
    };
    await until('room for others', again);
  });
});

/** Asks from another address of loopback. */
function askFrom(server: Guarded, localAddress: string, token: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` };
    const sent = request(`${server.url}/v1/whoami`, { localAddress, headers, agent: false }, (answer) => {
      answer.resume().once('end', () => resolve(answer.statusCode ?? 0));
    });
    sent.once('error', reject);
    sent.end();
  });
}

describe('failed logins', () => {
  const guess = (i: number) => `fwt_${String(i).padStart(12, '0')}_${'0'.repeat(52)}`;

  it('of one address have a measure; others there and elsewhere are let in', async () => {
    const server = await start();
    const [known, fresh] = [await server.mint('known'), await server.mint('fresh')];
    expect((await whoami(server, known.token)).status).toBe(200);
    const answers = await Promise.all(Array.from({ length: 100 }, (_, i) => askFrom(server, '127.0.0.1', guess(i))));
    expect(answers.filter((status) => status === 401).length).toBeLessThan(60);
    expect(answers.filter((status) => status === 429).length).toBeGreaterThan(40);
    expect(await askFrom(server, '127.0.0.1', known.token)).toBe(200);
    // It was never seen before, but who has it knows the half that is no secret.
    expect(await askFrom(server, '127.0.0.1', fresh.token)).toBe(200);
    expect(await askFrom(server, '127.0.0.2', guess(0))).toBe(401);
  });

  it('at one token are few, and cost those who have it nothing', async () => {
    const server = await start();
    const { token } = await server.mint('target');
    expect((await whoami(server, token)).status).toBe(200);
    const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
    const near = (i: number) => token.slice(0, -2) + alphabet[i >> 5] + alphabet[i & 31];
    const guesses = Array.from({ length: 200 }, (_, i) => near(i)).filter((text) => text !== token);
    const answers = await Promise.all(guesses.map((text) => askFrom(server, '127.0.0.1', text)));
    expect(answers).not.toContain(200);
    expect(answers.filter((status) => status === 429).length).toBeGreaterThan(100);
    expect((await whoami(server, token)).status).toBe(200);
    const failed = server.logged().split('"login_failed"').length - 1;
    expect(failed).toBeLessThan(60);
  });

  it('do not hold the event loop: others are answered meanwhile', async () => {
    const server = await start();
    const { token } = await server.mint('target');
    const guesses = Array.from({ length: 40 }, (_, i) => `${token.slice(0, -2)}${String(i).padStart(2, '0')}`);
    let isOver = false;
    const flood = Promise.all(guesses.map((text) => askFrom(server, '127.0.0.1', text))).finally(() => {
      isOver = true;
    });
    let served = 0;
    while (!isOver) {
      expect((await whoami(server, server.admin)).status).toBe(200);
      served += 1;
    }
    await flood;
    expect(served).toBeGreaterThan(3);
  });
});
