/**
 * node healthcheck.js PORT PATH: ends with 0 when this container answers there with 200, by TLS or in plain text. Whose
 * certificate it is does not matter: this is the same machine, and nothing is told.
 */
import { get as getHttp } from 'node:http';
import { get as getHttps } from 'node:https';

const [port, path] = process.argv.slice(2);
const limitMs = 4000;

/** @param {typeof getHttp} get */
function isWell(get) {
  return new Promise((resolve) => {
    const options = { host: '127.0.0.1', port, path, agent: false, timeout: limitMs, rejectUnauthorized: false };
    const asked = get(options, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    asked.on('timeout', () => asked.destroy());
    asked.on('error', () => resolve(false));
  });
}

process.exitCode = (await isWell(getHttp)) || (await isWell(getHttps)) ? 0 : 1;
