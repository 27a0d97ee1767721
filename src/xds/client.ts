/**
 * The other end of the delta protocol: a machine without I/O that holds resources, acknowledges or refuses what comes
 * and brings along what it has when it connects again. The agent, the tests and the benches use it.
 */
import type { TypeUrl } from './resource.ts';
import { wildcardName } from './subscription.ts';
import { decodeDeltaResponse, encodeDeltaRequest, type WireResource } from './wire.ts';

/** Words of refusal for a resource that the client will not take; undefined when it will. */
export type CheckResource = (typeUrl: TypeUrl, resource: WireResource) => string | undefined;

export interface ClientOptions {
  /** An encoded `Node`, see `encodeNode`; sent in the first request of each connection. */
  readonly node: Uint8Array;
  /** A refused resource makes the whole response refused; nothing of it is kept. Default: takes everything. */
  readonly check?: CheckResource;
}

/** What a received message led to. */
export interface ClientStep {
  /** Requests to be sent, in this order. */
  readonly requests: readonly Uint8Array[];
  readonly typeUrl: TypeUrl;
  readonly changed: readonly WireResource[];
  readonly removed: readonly string[];
  /** Words of the refusal, when the response was refused. */
  readonly refused: string | undefined;
}

export interface DeltaClient {
  /** Requests that open a connection: one for each type, with the versions held. */
  connect(): readonly Uint8Array[];
  /** Asks for names of a type, or for all by `*`. While connected, the requests are to be sent. */
  subscribe(typeUrl: TypeUrl, names: readonly string[]): readonly Uint8Array[];
  /** Gives up names, or `*`; what nothing asks for any more is forgotten. */
  unsubscribe(typeUrl: TypeUrl, names: readonly string[]): readonly Uint8Array[];
  /** Takes a response. Throws on bytes that are none. */
  receive(bytes: Uint8Array): ClientStep;
  /** The connection is gone; what was received stays. */
  disconnected(): void;
  resources(typeUrl: TypeUrl): ReadonlyMap<string, WireResource>;
}

interface TypeOfClient {
  wildcard: boolean;
  readonly names: Set<string>;
  readonly held: Map<string, WireResource>;
  /** A request of this type was sent on the connection. */
  begun: boolean;
}

/** `google.rpc.Code.INTERNAL`, which Envoy uses for every refusal. */
const refusedCode = 13;

export function createDeltaClient(options: ClientOptions): DeltaClient {
  const types = new Map<TypeUrl, TypeOfClient>();
  let connected = false;
  let nodeSent = false;

  function typeOf(typeUrl: TypeUrl): TypeOfClient {
    let type = types.get(typeUrl);
    if (type === undefined) {
      type = { wildcard: false, names: new Set(), held: new Map(), begun: false };
      types.set(typeUrl, type);
    }
    return type;
  }

  function request(fields: Parameters<typeof encodeDeltaRequest>[0]): Uint8Array {
    const first = !nodeSent;
    nodeSent = true;
    return encodeDeltaRequest(first ? { ...fields, node: options.node } : fields);
  }

  /** The first request of a type on a connection. */
  function begin(typeUrl: TypeUrl, type: TypeOfClient): readonly Uint8Array[] {
    if (!type.wildcard && type.names.size === 0) return [];
    type.begun = true;
    const initialVersions = new Map([...type.held].map(([name, resource]) => [name, resource.version]));
    return [request({ typeUrl, subscribe: listOf(type), initialVersions })];
  }

  return {
    connect() {
      connected = true;
      nodeSent = false;
      for (const type of types.values()) type.begun = false;
      return [...types].flatMap(([typeUrl, type]) => begin(typeUrl, type));
    },
    subscribe(typeUrl, names) {
      const type = typeOf(typeUrl);
      for (const name of names) {
        if (name === wildcardName) type.wildcard = true;
        else type.names.add(name);
      }
      if (!connected) return [];
      return type.begun ? [request({ typeUrl, subscribe: names })] : begin(typeUrl, type);
    },
    unsubscribe(typeUrl, names) {
      const type = typeOf(typeUrl);
      for (const name of names) {
        if (name === wildcardName) type.wildcard = false;
        else type.names.delete(name);
      }
      if (!type.wildcard) for (const name of [...type.held.keys()]) if (!type.names.has(name)) type.held.delete(name);
      return connected && type.begun ? [request({ typeUrl, unsubscribe: names })] : [];
    },
    receive(bytes) {
      const decoded = decodeDeltaResponse(bytes);
      if (!decoded.ok) throw new TypeError(`reading a response: ${decoded.error}`);
      const { typeUrl, nonce, resources, removed } = decoded.value;
      const type = typeOf(typeUrl);
      const refusals = resources.map((resource) => options.check?.(typeUrl, resource)).filter((words) => words);
      if (refusals.length > 0) {
        const message = refusals.join('; ');
        const requests = [request({ typeUrl, nonce, error: { code: refusedCode, message } })];
        return { requests, typeUrl, changed: [], removed: [], refused: message };
      }
      // What was unsubscribed while the response was on its way is not taken.
      const changed = resources.filter(({ name }) => type.wildcard || type.names.has(name));
      for (const resource of changed) type.held.set(resource.name, resource);
      for (const name of removed) type.held.delete(name);
      return { requests: [request({ typeUrl, nonce })], typeUrl, changed, removed, refused: undefined };
    },
    disconnected() {
      connected = false;
    },
    resources(typeUrl) {
      return types.get(typeUrl)?.held ?? new Map();
    },
  };
}

function listOf(type: TypeOfClient): readonly string[] {
  // Only a wildcard: the empty list says so. With names beside it, `*` must be said, too.
  if (type.wildcard && type.names.size === 0) return [];
  return type.wildcard ? [wildcardName, ...type.names] : [...type.names];
}
