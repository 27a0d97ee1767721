import { createPrivateKey, createPublicKey } from 'node:crypto';
import { mkdtempSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createKey, createRoot, issueToController, type Root } from '../../../src/pki/certificates.ts';
import { type FileCredentials, openFileCredentials } from '../../../src/pki/index.ts';
import { createLogger } from '../../../src/telemetry/log.ts';
import { until } from '../../support/until.ts';

let folder: string;
let root: Root;
let credentials: FileCredentials | undefined;
const lines: string[] = [];
const log = createLogger({ level: 'info', destination: { write: (line: string) => void lines.push(line) } });
const path = (name: string) => join(folder, name);
const files = () => ({ cert: path('c'), key: path('k'), ca: path('ca') });

async function pair(): Promise<{ certificate: string; key: string }> {
  const key = createKey();
  const publicKey = createPublicKey(createPrivateKey(key));
  const validity = { now: Date.now(), lifeMs: 3_600_000 };
  const { certificate } = await issueToController(root, publicKey, { trustDomain: 'd', hosts: [] }, validity);
  return { certificate, key };
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fairway-pki-'));
  root = await createRoot('d', Date.now());
  lines.length = 0;
  const { certificate, key } = await pair();
  writeFileSync(path('c'), certificate);
  writeFileSync(path('k'), key);
  writeFileSync(path('ca'), root.certificate);
});
afterEach(async () => {
  credentials?.close();
  credentials = undefined;
  rmSync(folder, { recursive: true, force: true });
});

describe('credentials in files', () => {
  it('are taken up when they change, together', async () => {
    credentials = await openFileCredentials(files(), { log, everyMs: 5 });
    const first = credentials.current;
    let told = 0;
    credentials.onChange(() => (told += 1));
    const next = await pair();
    writeFileSync(path('c'), next.certificate);
    await until('the fault to be told', () => lines.some((line) => line.includes('tls_files_unusable')));
    // The key is still the old one: the former pair stays in use.
    expect(credentials.current).toBe(first);
    writeFileSync(path('k'), next.key);
    await until('the change', () => told === 1);
    expect(credentials.current).toMatchObject({ cert: next.certificate, key: next.key, ca: root.certificate });
    expect(lines.filter((line) => line.includes('tls_files_unusable'))).toHaveLength(1);
  });

  it('are taken up when a link is turned', async () => {
    const next = await pair();
    writeFileSync(path('c2'), next.certificate);
    writeFileSync(path('k2'), next.key);
    for (const [from, to] of [
      ['c', 'lc'],
      ['k', 'lk'],
    ] as const)
      symlinkSync(path(from), path(to));
    credentials = await openFileCredentials({ ...files(), cert: path('lc'), key: path('lk') }, { log, everyMs: 5 });
    for (const [from, to] of [
      ['c2', 'lc'],
      ['k2', 'lk'],
    ] as const) {
      unlinkSync(path(to));
      symlinkSync(path(from), path(to));
    }
    await until('the change', () => credentials?.current.key === next.key);
  });

  it.each([
    ['there is none', () => rmSync(path('c')), /reading the certificate for TLS.*ENOENT/],
    ['they do not fit', () => writeFileSync(path('k'), createKey()), /cannot be used together/],
    ['one is something else', () => writeFileSync(path('ca'), 'hello'), /cannot be used together/],
  ])('are refused at the start when %s', async (_name, spoil, words) => {
    spoil();
    await expect(openFileCredentials(files(), { log })).rejects.toThrow(words);
  });
});
