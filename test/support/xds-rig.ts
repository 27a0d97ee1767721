/** A hub without sockets, with clients whose every message the test writes and reads. */
import { contentHash } from '../../src/lib/hash.ts';
import {
  type Commit,
  createHub,
  encodeNode,
  encodeResource,
  type Hub,
  type HubOptions,
  type HubStream,
  joinFrame,
  type Progress,
  type Resource,
  type StreamError,
  type TypeUrl,
  typeUrls,
} from '../../src/xds/index.ts';
import {
  type DeltaRequestInit,
  type DeltaResponse,
  decodeDeltaResponse,
  encodeDeltaRequest,
} from '../../src/xds/wire.ts';

export const { cluster, endpoint, extension, listener, route, secret } = typeUrls;

/** A resource whose content is the given text; the hub never looks inside. */
export function resource(
  type: TypeUrl,
  name: string,
  content = '1',
  rest: Partial<Omit<Resource, 'type' | 'name'>> = {},
): Resource {
  const value = new TextEncoder().encode(`${name}=${content}`);
  const hash = contentHash(value);
  const bytes = encodeResource(name, hash, type, value);
  return { type, name, bytes, hash, audience: 'all', needs: [], parts: [], ...rest };
}

export function needs(type: TypeUrl, ...names: string[]): Pick<Resource, 'needs'> {
  return { needs: names.map((name) => ({ type, name })) };
}

/** A response in short: `c1=1 c2=2 -c3`. */
export function text(response: DeltaResponse): string {
  const put = response.resources.map(({ value }) => new TextDecoder().decode(value));
  return [...put.sort(), ...[...response.removed].sort().map((name) => `-${name}`)].join(' ');
}

export class Client {
  readonly stream: HubStream;
  readonly received: DeltaResponse[] = [];
  readonly #rig: Rig;
  error: StreamError | undefined;

  constructor(rig: Rig, stream: HubStream) {
    this.#rig = rig;
    this.stream = stream;
  }

  send(request: DeltaRequestInit): void {
    this.error = this.stream.receive(encodeDeltaRequest(request), this.#rig.now) ?? this.error;
  }

  /** What came since the last call. */
  take(): DeltaResponse[] {
    this.#rig.pump();
    return this.received.splice(0);
  }

  /** The same as texts, each with the last word of its type. */
  texts(): string[] {
    return this.take().map((response) => `${short(response.typeUrl)}: ${text(response)}`.trim());
  }

  /** Takes and acknowledges until nothing comes any more. */
  settle(): string[] {
    const texts: string[] = [];
    for (;;) {
      const responses = this.take();
      if (responses.length === 0) return texts;
      for (const response of responses) {
        texts.push(`${short(response.typeUrl)}: ${text(response)}`.trim());
        this.ack(response);
      }
    }
  }

  ack(response: DeltaResponse | undefined): void {
    if (response === undefined) throw new Error('there is no response to acknowledge');
    this.send({ typeUrl: response.typeUrl, nonce: response.nonce });
  }

  nack(response: DeltaResponse | undefined, message = 'bad'): void {
    if (response === undefined) throw new Error('there is no response to refuse');
    this.send({ typeUrl: response.typeUrl, nonce: response.nonce, error: { code: 13, message } });
  }
}

export function short(typeUrl: TypeUrl): string {
  return Object.entries(typeUrls).find(([, url]) => url === typeUrl)?.[0] ?? typeUrl;
}

export class Rig {
  now = 1_000_000;
  readonly hub: Hub;
  readonly progress: Progress[] = [];
  readonly #clients = new Map<HubStream, Client>();
  #revision = 0;

  constructor(options: Partial<HubOptions> = {}) {
    this.hub = createHub({ random: () => 0.5, ...options });
  }

  /** Commits; subjects have the audience `all` from the first commit on. */
  commit(puts: readonly Resource[], rest: Partial<Omit<Commit, 'puts'>> = {}): void {
    const audiences = this.#revision === 0 ? [{ subject: 'cluster/edge', audiences: ['all'] }] : [];
    this.#revision += 1;
    this.hub.commit({ revision: this.#revision, removals: [], audiences, puts, ...rest });
  }

  remove(...removals: [TypeUrl, string][]): void {
    this.commit([], { removals: removals.map(([type, name]) => ({ type, name })) });
  }

  /** Opens a stream without sending anything on it. */
  open(): Client {
    const stream = this.hub.open('test', this.now);
    const client = new Client(this, stream);
    this.#clients.set(stream, client);
    return client;
  }

  /** Opens a stream and subscribes in its first request. */
  join(first: DeltaRequestInit, node: Parameters<typeof encodeNode>[0] = { id: 'n1', cluster: 'edge' }): Client {
    const client = this.open();
    client.send({ ...first, node: encodeNode(node) });
    return client;
  }

  pump(): void {
    for (;;) {
      const work = this.hub.next(this.now);
      if (work === undefined) break;
      if (work.kind === 'more') continue;
      const decoded = decodeDeltaResponse(joinFrame(work.frame));
      if (!decoded.ok) throw new Error(decoded.error);
      this.#clients.get(work.stream)?.received.push(decoded.value);
    }
    this.progress.push(...this.hub.takeProgress());
  }

  /** Lets time pass, stopping at each deadline. */
  pass(ms: number): void {
    const end = this.now + ms;
    for (;;) {
      this.pump();
      const deadline = this.hub.nextDeadline();
      if (deadline === undefined || deadline > end) break;
      this.now = Math.max(this.now, deadline);
      this.hub.tick(this.now);
    }
    this.now = end;
    this.pump();
  }

  /** Progress of a kind since the last call. */
  events<K extends Progress['kind']>(kind: K): Extract<Progress, { kind: K }>[] {
    this.pump();
    const found = this.progress.filter((event): event is Extract<Progress, { kind: K }> => event.kind === kind);
    this.progress.splice(0, this.progress.length, ...this.progress.filter((event) => event.kind !== kind));
    return found;
  }
}
