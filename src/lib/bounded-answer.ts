import type { ClientRequest } from 'node:http';
import { FairwayError } from './errors.ts';

export interface BoundedAnswer {
  readonly status: number;
  readonly text: string;
}

/** The same as it came: to make one text of very much takes long. */
export interface BoundedBytes {
  readonly status: number;
  readonly chunks: readonly Uint8Array[];
}

interface Exchange {
  readonly body: Uint8Array | string | undefined;
  readonly maxBytes: number;
}

/**
 * Sends a request with its body and reads the answer, no more of it than `maxBytes`. Rejects with what keeps it from coming
 * whole; `TooLarge` when there is more.
 */
export async function answerTo(asked: ClientRequest, exchange: Exchange): Promise<BoundedAnswer> {
  const { status, chunks } = await bytesTo(asked, exchange);
  return { status, text: Buffer.concat(chunks).toString('utf8') };
}

/** As {@link answerTo}. */
export function bytesTo(asked: ClientRequest, { body, maxBytes }: Exchange): Promise<BoundedBytes> {
  return new Promise((resolve, reject) => {
    asked.once('error', reject);
    asked.once('response', (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        bytes += chunk.byteLength;
        if (bytes > maxBytes) {
          response.destroy(new FairwayError('TooLarge', `reading an answer: it has more than ${maxBytes} bytes`));
        }
      });
      response.once('error', reject);
      response.once('end', () => {
        resolve({ status: response.statusCode ?? 0, chunks });
      });
    });
    asked.end(body);
  });
}
