import type { Records } from '../control/index.ts';
import { beginSlice } from '../lib/in-slices.ts';
import type { Logger } from '../telemetry/log.ts';
import type { ClientStatusAnswer } from '../xds/index.ts';
import type { AskElsewhere, Elsewhere } from '../xds/io/index.ts';
import type { Peers, Unanswered } from './peers.ts';

export interface StatusElsewhereOptions {
  readonly peers: Peers;
  readonly records: Pick<Records, 'nodes'>;
  readonly log: Logger;
}

/** Asks the other controllers for the status of the clients that are connected to them. */
export function createStatusElsewhere({ peers, records, log }: StatusElsewhereOptions): AskElsewhere {
  /** Of controllers that do not answer: since when, as was logged. */
  let logged: ReadonlyMap<string, string> = new Map();

  /** Who asks every second need not be told of each time: once for each silence. */
  function note(unanswered: readonly Unanswered[], proxies: number): void {
    const fresh = unanswered.filter(({ controller, since }) => logged.get(controller) !== since);
    logged = new Map(unanswered.map(({ controller, since }) => [controller, since]));
    if (fresh.length > 0) log.warn({ event: 'client_status_incomplete', controllers: fresh, proxies });
  }

  function attachedTo(controllers: ReadonlySet<string>): Elsewhere['unknown'] {
    return [...records.nodes.values()]
      .filter(({ connected, controller }) => connected && controller !== undefined && controllers.has(controller))
      .map(({ nodeId, fleet }) => ({ id: nodeId, cluster: fleet }));
  }

  return async ({ request, only, maxBytes }) => {
    const chunks: Uint8Array[] = [];
    const unanswered: Unanswered[] = [];
    const asking = { ask: 'clientStatus', request: Buffer.from(request).toString('base64'), only } as const;
    let left = maxBytes;
    let asked = peers.others();
    let isTooLarge = false;
    // All at once, each for its share of the room. Proxies may be spread unevenly: those who have more to tell are asked
    // again, for what the others left. When all had more than their shares, all together have more than there is room.
    while (asked.length > 0 && !isTooLarge) {
      const told = await peers.ask({ ...asking, maxBytes: Math.floor(left / asked.length) }, asked);
      const larger: string[] = [];
      for (const { controller, answer } of told.answers) {
        if (answer === null) larger.push(controller);
        else {
          const { chunks: some, sizeBytes } = await decode(answer);
          chunks.push(...some);
          left -= sizeBytes;
        }
      }
      unanswered.push(...told.unanswered);
      isTooLarge = left < 0 || larger.length === asked.length;
      asked = larger;
    }
    const unknown = attachedTo(new Set(unanswered.map(({ controller }) => controller)));
    note(unanswered, unknown.length);
    return { answer: isTooLarge ? undefined : { chunks, sizeBytes: maxBytes - left }, unknown };
  };
}

/** Into memory that can be handed to sockets as it is. */
async function decode(texts: readonly string[]): Promise<ClientStatusAnswer> {
  const slice = beginSlice();
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for (const text of texts) {
    const bytes = Buffer.from(new SharedArrayBuffer(Buffer.byteLength(text, 'base64')));
    bytes.write(text, 'base64');
    chunks.push(bytes);
    sizeBytes += bytes.byteLength;
    await slice.pause();
  }
  return { chunks, sizeBytes };
}
