/**
 * The rules of the protocol that this server keeps, and that each has a test. A test says in its name which rules it
 * tries: `rule 7: …`, `rules 25, 26: …`. Where it stands says on what.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

/**
 * `delta`, `sotw`: on the machines without I/O. `server`: with sockets, or two controllers. `client`: with a real Envoy
 * or gRPC's own client. `translation`: what Fairway's objects become.
 */
type Place = 'delta' | 'sotw' | 'server' | 'client' | 'translation';

interface Rule {
  readonly title: string;
  readonly on: readonly Place[];
  /** Why it has no test yet. */
  readonly later?: string;
}

const both = ['delta', 'sotw'] as const;

const rules: Readonly<Record<number, Rule>> = {
  1: { title: 'both methods; each type is a sub-stream of its own', on: [...both, 'client'] },
  2: { title: 'the node comes in the first request and is kept', on: [...both, 'server'] },
  3: { title: 'no type is an error, an unknown one is not', on: [...both, 'server'] },
  4: { title: 'a nonce means nothing on another stream', on: [...both, 'client'] },
  5: { title: 'nonce, type and controller in each response', on: both },
  6: { title: 'names match exactly; * is no resource', on: both },
  7: { title: 'a NACK is the presence of error_detail', on: [...both, 'client'] },
  8: { title: 'delta: only the nonce ties a request to a response', on: ['delta'] },
  9: { title: 'delta: a stale nonce drops no lists', on: ['delta', 'server'] },
  10: { title: 'state-of-the-world: a stale nonce gets no answer, its names count', on: ['sotw', 'server', 'client'] },
  11: { title: 'convicted content is not sent again', on: [...both, 'client'] },
  12: { title: 'a NACK does not advance what the client has', on: both },
  13: { title: 'a NACK covers a whole response', on: [...both, 'client'] },
  14: { title: 'an ACK of clusters comes when nothing warms', on: [...both, 'client'] },
  15: { title: 'late ACKs; no wait without a deadline', on: [...both, 'client'] },
  16: { title: 'an empty list means all until the first name', on: both },
  17: { title: 'state-of-the-world: names after the wildcard', on: ['sotw'] },
  18: { title: 'delta: a name after the wildcard keeps it', on: ['delta'] },
  19: { title: 'delta: * given and taken in one request is nothing', on: ['delta'] },
  20: { title: 'state-of-the-world: an empty list after names is never all', on: ['sotw'] },
  21: { title: 'each name subscribed is answered', on: [...both, 'client'] },
  22: { title: 'given up and asked for again is sent again', on: [...both, 'client'] },
  23: { title: 'delta: unsubscribing unknown names, and names under *', on: ['delta'] },
  24: { title: 'delta: subscribe first, then unsubscribe', on: ['delta'] },
  25: { title: 'a missing name is told once, or never, and sent when it appears', on: [...both, 'client'] },
  26: { title: 'an empty assignment for a pool without members', on: [...both, 'client', 'translation'] },
  27: { title: 'state-of-the-world: full sets of clusters and listeners', on: ['sotw', 'client'] },
  28: { title: 'no name twice; the name inside is the name', on: [...both, 'translation'] },
  29: { title: 'nothing without a change, but the first answer', on: both },
  30: { title: 'no heartbeats to those who cannot take them', on: both },
  31: { title: 'delta: initial versions; what is gone is removed', on: ['delta', 'client'] },
  32: { title: 'delta: old Envoys stay wildcard', on: ['delta'] },
  33: { title: 'equal versions are not sent again, with exceptions', on: ['delta', 'client'] },
  34: { title: 'a lagging controller does not serve', on: [...both, 'server'] },
  35: { title: 'a changed cluster gets its endpoints again', on: [...both, 'client'] },
  36: { title: 'endpoints never before their cluster', on: [...both, 'client'] },
  37: { title: 'ECDS is never removed, and has a default', on: [...both, 'client', 'translation'] },
  38: { title: "a listener's own fields are left alone", on: ['translation'] },
  39: { title: 'what is needed is not removed', on: [...both, 'client', 'translation'] },
  40: { title: 'statuses; no limit locks out for good', on: ['delta', 'server'] },
  41: {
    title: 'with mutual TLS the certificate fixes node and fleet',
    on: [...both, 'server', 'client'],
  },
  42: { title: 'nothing of a stream stays when it closes', on: [...both, 'server'] },
};

const root = fileURLToPath(new URL('../..', import.meta.url));

function placeOf(path: string, name: string): Place | undefined {
  if (path === 'unit/xds/rules.test.ts') return undefined;
  if (path === 'unit/xds/sotw.test.ts') return 'sotw';
  if (path.startsWith('unit/xds/')) return name.includes('state-of-the-world') ? 'sotw' : 'delta';
  if (path.startsWith('unit/translate/')) return 'translation';
  if (path.startsWith('peer/')) return 'client';
  if (path.startsWith('feature/') || path.startsWith('unit/server/')) return 'server';
  return undefined;
}

/** `rule place` of each test that says so. */
function tried(): Set<string> {
  const found = new Set<string>();
  for (const path of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
    if (!path.endsWith('.test.ts')) continue;
    const lines = readFileSync(`${root}/${path}`, 'utf8').split('\n');
    for (const line of lines) {
      // A string that begins so; in a comment it is no test.
      if (/^\s*(\/\/|\*|\/\*)/.test(line)) continue;
      for (const [, numbers = '', rest = ''] of line.matchAll(/['"`]rules? (\d+(?:, \d+)*): (.*)/g)) {
        const place = placeOf(path, rest);
        if (place !== undefined) for (const number of numbers.split(', ')) found.add(`${number} ${place}`);
      }
    }
  }
  return found;
}

describe('the rules of the protocol', () => {
  const found = tried();

  it('are numbered from 1 to 42', () => {
    expect(Object.keys(rules).map(Number)).toEqual(Array.from({ length: 42 }, (_, at) => at + 1));
  });

  it.each(Object.entries(rules))('%s has its tests', (number, { title, on, later }) => {
    if (on.length === 0) expect(later).toBeDefined();
    const missing = on.filter((place) => !found.has(`${number} ${place}`));
    expect({ number, title, missing }).toEqual({ number, title, missing: [] });
  });

  it('no test names a rule that there is not', () => {
    expect([...found].filter((one) => rules[Number(one.split(' ')[0])] === undefined)).toEqual([]);
  });

  it('the search finds tests', () => {
    expect(found.size).toBeGreaterThan(90);
  });
});
