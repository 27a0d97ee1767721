import { request } from 'node:https';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CliError, exitCodes } from './failure.ts';

/** What a connection by TLS is made with, besides what the machine trusts. */
export interface TlsFilesOfContext {
  /** PEM files. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** PEM texts. */
interface TlsMaterial {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/**
 * `fetch` with a CA or a certificate of one's own, which the one of the platform does not take. Fails as that does: a
 * `TypeError` with the reason as its cause. Never follows a redirection.
 */
export async function createSecureFetch(files: TlsFilesOfContext): Promise<typeof fetch> {
  const material = await read(files);
  return (input, init = {}) =>
    new Promise((resolve, reject) => {
      const fail = (cause: Error): void => reject(new TypeError('fetch failed', { cause }));
      const { method = 'GET', body, signal } = init;
      const headers = Object.fromEntries(new Headers(init.headers));
      const sent = request(new URL(String(input)), { ...material, method, headers, agent: false }, (answer) => {
        const { statusCode = 0 } = answer;
        if (statusCode >= 300 && statusCode < 400) {
          answer.destroy();
          fail(new Error('unexpected redirect'));
          return;
        }
        const given = Object.entries(answer.headers).flatMap(([name, value]) =>
          [value ?? []].flat().map((one): [string, string] => [name, one]),
        );
        const hasBody = statusCode !== 204 && statusCode !== 304;
        if (!hasBody) answer.resume();
        const stream = hasBody ? (Readable.toWeb(answer) as ReadableStream<Uint8Array>) : null;
        resolve(new Response(stream, { status: statusCode, headers: given }));
        signal?.addEventListener('abort', () => answer.destroy(signal.reason), { once: true });
      });
      sent.once('error', fail);
      signal?.addEventListener('abort', () => {
        sent.destroy();
        reject(signal.reason);
      });
      if (body instanceof ReadableStream) pipeline(Readable.fromWeb(body), sent).catch(fail);
      else sent.end(body ?? undefined);
    });
}

async function read(files: TlsFilesOfContext): Promise<TlsMaterial> {
  const { readFile } = await import('node:fs/promises');
  const texts = await Promise.all(
    Object.entries(files).map(async ([name, path]) => {
      try {
        return [name, await readFile(path, 'utf8')] as const;
      } catch (cause) {
        throw new CliError(exitCodes.usage, `${path} cannot be read: ${(cause as Error).message}`, { cause });
      }
    }),
  );
  return Object.fromEntries(texts);
}
