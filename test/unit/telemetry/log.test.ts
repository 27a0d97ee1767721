import { describe, expect, test } from 'vitest';
import { createLogger } from '../../../src/telemetry/log.ts';

/** What stands between the lines that say that it is a key. */
const secret = 'MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgsecretsecret';
const key = `-----BEGIN PRIVATE KEY-----\n${secret}\n${secret}\n-----END PRIVATE KEY-----\n`;
const ecKey = key.replaceAll('PRIVATE KEY', 'EC PRIVATE KEY');
const spec = { chain: '-----BEGIN CERTIFICATE-----\npublic\n-----END CERTIFICATE-----\n', key };
const object = { kind: 'Certificate', metadata: { name: 'shop-tls' }, spec };

function logged(write: (log: ReturnType<typeof createLogger>) => void): string {
  const lines: string[] = [];
  write(createLogger({ level: 'trace', destination: { write: (line: string) => void lines.push(line) } }));
  return lines.join('');
}

describe('a log line holds no key', () => {
  test.each<[string, Record<string, unknown>]>([
    ['as a field', { key }],
    ['in a spec', { spec }],
    ['in an object', { object }],
    ['in a list of objects', { objects: [object, { ...object, spec: { key: ecKey } }] }],
    ['far down', { request: { body: { items: [{ change: { before: object, after: object } }] } } }],
    ['in text that is JSON itself', { body: JSON.stringify({ items: [object] }) }],
    ['in JSON in JSON', { body: JSON.stringify({ body: JSON.stringify(object) }) }],
    ['cut off before its end', { body: JSON.stringify(object).slice(0, 200) }],
    ['in an error', { err: new Error(`cannot read ${key}`, { cause: new Error(`because of ${ecKey}`) }) }],
    ['under a name of its own', { [key]: 1 }],
  ])('%s', (_, fields) => {
    const text = logged((log) => log.info({ event: 'test', ...fields }, 'done'));
    expect(text).not.toContain(secret.slice(0, 20));
    expect(text).toContain('[redacted]');
    expect(JSON.parse(text)).toMatchObject({ event: 'test', message: 'done' });
  });

  test('in its message, or in the fields of a child', () => {
    const text = logged((log) =>
      log.child({ room: 'api', object }).error(`cannot store ${key.trim()} or ${ecKey.trim()}!`),
    );
    expect(text).not.toContain(secret.slice(0, 20));
    expect(JSON.parse(text)).toMatchObject({ room: 'api', message: 'cannot store [redacted] or [redacted]!' });
  });

  test('nor the credentials of a request', () => {
    const headers = { authorization: 'Bearer abc', accept: '*/*' };
    const text = logged((log) => log.info({ req: { headers }, headers }));
    expect(text).not.toContain('Bearer');
    expect(JSON.parse(text).headers.accept).toBe('*/*');
  });
});

test('what is public stays readable', () => {
  const text = logged((log) => log.info({ event: 'test', key: 'VirtualService/default/shop', object }));
  const line = JSON.parse(text);
  expect(line.key).toBe('VirtualService/default/shop');
  expect(line.object.spec.chain).toBe(spec.chain);
  expect(line.object.spec.key).toBe('[redacted]\n');
});

test.each<[string, (log: ReturnType<typeof createLogger>) => void, Record<string, unknown>]>([
  ['words', (log) => log.info('listening at %s', 'here'), { message: 'listening at here' }],
  ['facts', (log) => log.warn({ code: 7 }, 'gone'), { code: 7, message: 'gone' }],
  ['an error', (log) => log.error(new Error('broken')), { err: expect.objectContaining({ message: 'broken' }) }],
  ['a child', (log) => log.child({ room: 'api' }).info('hello'), { room: 'api', message: 'hello' }],
])('a line of a library has a name too: %s', (_, write, want) => {
  expect(JSON.parse(logged(write))).toMatchObject({ event: 'library_note', ...want });
});

test('an error is told with its stack and its cause', () => {
  const text = logged((log) => log.error({ event: 'failed', err: new Error('outer', { cause: new Error('inner') }) }));
  expect(JSON.parse(text).err).toMatchObject({ type: 'Error', message: expect.stringContaining('inner') });
  expect(text).toContain('log.test.ts');
});
