/**
 * A client of state-of-the-world with the shape of the delta client, so that the same test can try both. It is told what
 * the name of a resource is, for the protocol does not say it.
 */
import { contentHash } from '../../src/lib/hash.ts';
import {
  type ClientOptions,
  type DeltaClient,
  type TypeUrl,
  typeUrls,
  type WireResource,
  wildcardName,
} from '../../src/xds/index.ts';
import { decodeSotwResponse, encodeSotwRequest } from '../../src/xds/sotw-wire.ts';
import type { DeltaResponse } from '../../src/xds/wire.ts';

export interface SotwClientOptions extends ClientOptions {
  readonly nameOf: (typeUrl: TypeUrl, value: Uint8Array) => string;
}

export interface SotwClient extends DeltaClient {
  /** What a response says in the terms of delta: of a full set, what is no longer there is removed. */
  read(bytes: Uint8Array): Pick<DeltaResponse, 'typeUrl' | 'resources' | 'removed'>;
}

interface TypeOfClient {
  readonly wanted: Set<string>;
  readonly held: Map<string, WireResource>;
  version: string;
  nonce: string;
  begun: boolean;
}

export const fullSets: readonly TypeUrl[] = [typeUrls.cluster, typeUrls.listener];

export function createSotwClient(options: SotwClientOptions): SotwClient {
  const types = new Map<TypeUrl, TypeOfClient>();
  let connected = false;
  let nodeSent = false;

  function typeOf(typeUrl: TypeUrl): TypeOfClient {
    const type = types.get(typeUrl) ?? { wanted: new Set(), held: new Map(), version: '', nonce: '', begun: false };
    types.set(typeUrl, type);
    return type;
  }

  const wants = ({ wanted }: TypeOfClient, name: string): boolean => wanted.has(name) || wanted.has(wildcardName);

  function request(typeUrl: TypeUrl, type: TypeOfClient, error?: { code: number; message: string }): Uint8Array {
    const { version, nonce, wanted } = type;
    type.begun = true;
    const rest = error === undefined ? {} : { error };
    const fields = { typeUrl, names: [...wanted], version, nonce, ...rest };
    const first = !nodeSent;
    nodeSent = true;
    return encodeSotwRequest(first ? { ...fields, node: options.node } : fields);
  }

  function change(typeUrl: TypeUrl, edit: (type: TypeOfClient) => void): readonly Uint8Array[] {
    const type = typeOf(typeUrl);
    edit(type);
    for (const name of [...type.held.keys()]) if (!wants(type, name)) type.held.delete(name);
    return connected && (type.begun || type.wanted.size > 0) ? [request(typeUrl, type)] : [];
  }

  function read(bytes: Uint8Array) {
    const decoded = decodeSotwResponse(bytes);
    if (!decoded.ok) throw new TypeError(`reading a response: ${decoded.error}`);
    const { typeUrl, version, nonce } = decoded.value;
    const type = typeOf(typeUrl);
    const resources = decoded.value.resources.map(({ typeUrl: inside, value }) => ({
      name: options.nameOf(typeUrl, value),
      version: contentHash(value),
      typeUrl: inside,
      value,
    }));
    const named = new Set(resources.map(({ name }) => name));
    const removed = fullSets.includes(typeUrl) ? [...type.held.keys()].filter((name) => !named.has(name)) : [];
    return { typeUrl, type, version, nonce, resources, removed };
  }

  return {
    connect() {
      connected = true;
      nodeSent = false;
      for (const type of types.values()) Object.assign(type, { nonce: '', begun: false });
      return [...types].flatMap(([typeUrl, type]) => (type.wanted.size > 0 ? [request(typeUrl, type)] : []));
    },
    subscribe(typeUrl, names) {
      return change(typeUrl, ({ wanted }) => {
        for (const name of names) wanted.add(name);
      });
    },
    unsubscribe(typeUrl, names) {
      return change(typeUrl, ({ wanted }) => {
        for (const name of names) wanted.delete(name);
      });
    },
    read,
    receive(bytes) {
      const { typeUrl, type, version, nonce, resources, removed } = read(bytes);
      type.nonce = nonce;
      const refusals = resources.map((resource) => options.check?.(typeUrl, resource)).filter((words) => words);
      if (refusals.length > 0) {
        const message = refusals.join('; ');
        const requests = [request(typeUrl, type, { code: 13, message })];
        return { requests, typeUrl, changed: [], removed: [], refused: message };
      }
      type.version = version;
      const changed = resources.filter(({ name }) => wants(type, name));
      for (const resource of changed) type.held.set(resource.name, resource);
      for (const name of removed) type.held.delete(name);
      return { requests: [request(typeUrl, type)], typeUrl, changed, removed, refused: undefined };
    },
    disconnected() {
      connected = false;
    },
    resources: (typeUrl) => typeOf(typeUrl).held,
  };
}
