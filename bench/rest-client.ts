import { Agent, request } from 'node:http';

/** A client of the REST API over one kept connection, one request at a time. */
export interface RestClient {
  /** Gives the body of a 2xx answer, when all of it has come. Throws on any other. */
  call<T = unknown>(method: string, path: string, body?: string): Promise<T>;
  stop(): Promise<void>;
}

const limitMs = 60_000;

export function createRestClient(address: string): RestClient {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const { hostname, port } = new URL(`http://${address}`);
  return {
    call: (method, path, body) =>
      new Promise((resolve, reject) => {
        const headers = body === undefined ? {} : { 'content-type': 'application/json' };
        const sent = request({ hostname, port, agent, method, path, headers, timeout: limitMs }, (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.once('error', reject);
          response.once('end', () => {
            const text = Buffer.concat(chunks).toString();
            const { statusCode = 0 } = response;
            if (statusCode >= 200 && statusCode < 300) resolve(JSON.parse(text));
            else reject(new Error(`${method} ${path}: ${statusCode} ${text}`));
          });
        });
        sent.once('timeout', () => sent.destroy(new Error(`${method} ${path}: no answer after ${limitMs} ms`)));
        sent.once('error', reject);
        sent.end(body);
      }),
    async stop() {
      agent.destroy();
    },
  };
}
