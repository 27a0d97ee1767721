/**
 * What a change of a listener drains: which connections Envoy ends when the drain time is over. The rules were seen on
 * a real Envoy; a test holds them to it.
 */
import { clearField, clone } from '@bufbuild/protobuf';
import { FilterChainSchema } from '../gen/envoy/config/listener/v3/listener_components_pb.js';
import { type Listener, ListenerSchema } from '../gen/envoy/config/listener/v3/listener_pb.js';
import type { Resource } from '../xds/index.ts';
import { decode } from './decode.ts';
import { encode } from './encode.ts';

export interface Drains {
  /** Listeners all of whose connections end. */
  readonly listeners: readonly string[];
  /** Filter chains whose connections end, `<listener>#<chain>`. */
  readonly filterChains: readonly string[];
}

const nothing: Drains = { listeners: [], filterChains: [] };

/** What the change of one Listener resource drains; undefined is "not there". */
export function drains(before: Resource | undefined, after: Resource | undefined): Drains {
  if (before === undefined || before.hash === after?.hash) return nothing;
  if (after === undefined) return { listeners: [before.name], filterChains: [] };
  const was = decode(ListenerSchema, before);
  const is = decode(ListenerSchema, after);
  if (!sameBytes(ownFields(was), ownFields(is))) return { listeners: [before.name], filterChains: [] };
  // A chain is kept when the same one, name included, is still there, wherever it stands.
  const kept = new Set(is.filterChains.map(chainText));
  const gone = was.filterChains.filter((chain) => !kept.has(chainText(chain)));
  return { listeners: [], filterChains: gone.map(({ name }) => `${before.name}#${name}`) };
}

/** Fields that Envoy updates in place. */
const inPlace = [
  ListenerSchema.field.filterChains,
  ListenerSchema.field.filterChainMatcher,
  ListenerSchema.field.defaultFilterChain,
];

/** The fields of which a change replaces the listener: all but the chains and the choice of the chain. */
function ownFields(listener: Listener): Uint8Array {
  const own = clone(ListenerSchema, listener);
  for (const field of inPlace) clearField(own, field);
  return encode(ListenerSchema, own);
}

function chainText(chain: Listener['filterChains'][number]): string {
  return encode(FilterChainSchema, chain).join();
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.byteLength === b.byteLength && a.every((byte, i) => byte === b[i]);
}
