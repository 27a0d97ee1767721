import { execFile } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { debianProgram } from '../support/debian.ts';

// The units of envoy/deploy, as systemd itself reads them. It need not run here for that.

const exec = promisify(execFile);
const units = fileURLToPath(new URL('../../envoy/deploy', import.meta.url));
const names = readdirSync(units).filter((name) => name.endsWith('.service'));

/** The exposure that `systemd-analyze security` gives, 0 to 100; what has a network and compiles code has some. */
const mostExposure = 20;

let root: string;
let analyze: { readonly path: string } | { readonly missing: string };

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'fairway-systemd-'));
  analyze = await debianProgram('systemd-analyze', 'systemd');
});

afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Runs it to its end, and gives all that it says. */
async function systemdAnalyze(
  skip: (note: string) => void,
  ...args: string[]
): Promise<{ code: number; said: string }> {
  if ('missing' in analyze) skip(analyze.missing);
  const { path } = analyze as { readonly path: string };
  return exec(path, ['--no-pager', ...args]).then(
    ({ stdout, stderr }) => ({ code: 0, said: stdout + stderr }),
    ({ code, stdout, stderr }) => ({ code, said: `${stdout}${stderr}` }),
  );
}

test('systemd takes them without a word', async ({ skip }) => {
  // A machine with them installed: systemd's own targets, and the command where the units expect it.
  const installed = join(root, 'etc/systemd/system');
  const targets = join(root, 'lib/systemd/system');
  for (const folder of [installed, targets, join(root, 'usr/local/bin')]) mkdirSync(folder, { recursive: true });
  for (const name of names) copyFileSync(join(units, name), join(installed, name));
  writeFileSync(join(root, 'usr/local/bin/fairway'), '#!/bin/sh\n');
  chmodSync(join(root, 'usr/local/bin/fairway'), 0o755);
  if ('path' in analyze) {
    for (const name of readdirSync('/lib/systemd/system')) {
      if (name.endsWith('.target')) copyFileSync(join('/lib/systemd/system', name), join(targets, name));
    }
  }
  expect(names.length).toBeGreaterThan(1);
  expect(await systemdAnalyze(skip, 'verify', '--root', root, ...names)).toEqual({ code: 0, said: '' });
});

test.for(names)('%s is exposed to little', async (name, { skip }) => {
  const { code, said } = await systemdAnalyze(
    skip,
    ...['security', '--offline=true', `--threshold=${mostExposure}`, join(units, name)],
  );
  expect(said).toContain(`Overall exposure level for ${name}`);
  expect(code, said).toBe(0);
});
