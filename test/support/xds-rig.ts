/** A hub without sockets, with clients whose every message the test writes and reads. */
import { contentHash } from '../../src/lib/hash.ts';
import type { Result } from '../../src/lib/result.ts';
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
  type StreamOptions,
  type TypeUrl,
  typeUrls,
} from '../../src/xds/index.ts';
import {
  decodeSotwResponse,
  encodeSotwRequest,
  type SotwRequestInit,
  type SotwResponse,
} from '../../src/xds/sotw-wire.ts';
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
  /** What is sent to it is lost on the way. */
  deaf = false;
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

/** A client of state-of-the-world: each request repeats all names that it wants of the type. */
export class SotwClient {
  readonly stream: HubStream;
  readonly received: SotwResponse[] = [];
  /** Type → all names wanted. */
  readonly names = new Map<TypeUrl, readonly string[]>();
  /** Type → version of the last response accepted. */
  readonly versions = new Map<TypeUrl, string>();
  readonly #nonces = new Map<TypeUrl, string>();
  readonly #rig: Rig;
  #node: Uint8Array | undefined;
  deaf = false;
  error: StreamError | undefined;

  constructor(rig: Rig, stream: HubStream, node: Parameters<typeof encodeNode>[0]) {
    this.#rig = rig;
    this.stream = stream;
    this.#node = encodeNode(node);
  }

  send(request: SotwRequestInit): void {
    const bytes = encodeSotwRequest(this.#node === undefined ? request : { ...request, node: this.#node });
    this.#node = undefined;
    this.error = this.stream.receive(bytes, this.#rig.now) ?? this.error;
  }

  /** Asks for these names and no others, with the nonce that came last. */
  want(typeUrl: TypeUrl, names: readonly string[] = []): void {
    this.names.set(typeUrl, names);
    const version = this.versions.get(typeUrl) ?? '';
    this.send({ typeUrl, names, version, nonce: this.#nonces.get(typeUrl) ?? '' });
  }

  /** What came since the last call. */
  take(): SotwResponse[] {
    this.#rig.pump();
    for (const { typeUrl, nonce } of this.received) this.#nonces.set(typeUrl, nonce);
    return this.received.splice(0);
  }

  /** The same in short, `cluster: c1=1 c2=2`. */
  texts(): string[] {
    return this.take().map(sotwText);
  }

  /** Takes and acknowledges until nothing comes any more. */
  settle(): string[] {
    const texts: string[] = [];
    for (;;) {
      const responses = this.take();
      if (responses.length === 0) return texts;
      for (const response of responses) {
        texts.push(sotwText(response));
        this.ack(response);
      }
    }
  }

  ack(response: SotwResponse | undefined): void {
    if (response === undefined) throw new Error('there is no response to acknowledge');
    const { typeUrl, nonce, version } = response;
    this.versions.set(typeUrl, version);
    this.send({ typeUrl, nonce, version, names: this.names.get(typeUrl) ?? [] });
  }

  nack(response: SotwResponse | undefined, message = 'bad'): void {
    if (response === undefined) throw new Error('there is no response to refuse');
    const { typeUrl, nonce } = response;
    const version = this.versions.get(typeUrl) ?? '';
    this.send({ typeUrl, nonce, version, names: this.names.get(typeUrl) ?? [], error: { code: 13, message } });
  }
}

export function sotwText({ typeUrl, resources }: SotwResponse): string {
  const texts = resources.map(({ value }) => new TextDecoder().decode(value)).sort();
  return `${short(typeUrl)}: ${texts.join(' ')}`.trim();
}

export function short(typeUrl: TypeUrl): string {
  return Object.entries(typeUrls).find(([, url]) => url === typeUrl)?.[0] ?? typeUrl;
}

export class Rig {
  now = 1_000_000;
  /** Of the proxy that most tests are about. */
  readonly node = encodeNode({ id: 'n1', cluster: 'edge' });
  readonly hub: Hub;
  readonly progress: Progress[] = [];
  readonly #clients = new Map<HubStream, Client | SotwClient>();
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
  open(options: Omit<StreamOptions, 'protocol'> = {}): Client {
    const stream = this.hub.open('test', this.now, options);
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

  /** Opens a stream of state-of-the-world; its first request carries the node. */
  openSotw(
    options: Omit<StreamOptions, 'protocol'> = {},
    node: Parameters<typeof encodeNode>[0] = { id: 'n1', cluster: 'edge' },
  ): SotwClient {
    const stream = this.hub.open('test', this.now, { ...options, protocol: 'sotw' });
    const client = new SotwClient(this, stream, node);
    this.#clients.set(stream, client);
    return client;
  }

  pump(): void {
    for (;;) {
      const work = this.hub.next(this.now);
      if (work === undefined) break;
      if (work.kind === 'more') continue;
      const client = this.#clients.get(work.stream);
      if (work.kind === 'refused') {
        if (client !== undefined) client.error = work.error;
        continue;
      }
      if (client?.deaf === true) continue;
      const bytes = joinFrame(work.frame);
      if (client instanceof SotwClient) client.received.push(read(decodeSotwResponse(bytes)));
      else client?.received.push(read(decodeDeltaResponse(bytes)));
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

function read<T>(decoded: Result<T, string>): T {
  if (!decoded.ok) throw new Error(decoded.error);
  return decoded.value;
}
