/**
 * The request that nearly all requests are: an ACK and nothing else, `type_url` and `response_nonce`. It is recognised
 * by its bytes: after each change a thousand of them come at once, and decoding them costs more than what they say.
 * An ACK that a client writes in another way is decoded like any other request.
 */
import { typeUrls } from './resource.ts';

const typeField = (2 << 3) | 2;
const nonceField = (6 << 3) | 2;

/** Type → what an ACK of it begins with. Names of types, and nonces, are ASCII and shorter than 128 characters. */
export const ackHeads: ReadonlyMap<string, Uint8Array> = new Map(
  Object.values(typeUrls).map((type) => [
    type,
    Uint8Array.from([typeField, type.length, ...new TextEncoder().encode(type), nonceField]),
  ]),
);

/** Whether a request is the plain ACK, of the type that `head` is of, of the response with this nonce. */
export function isPlainAck(request: Uint8Array, head: Uint8Array, nonce: string): boolean {
  const { length } = head;
  if (request.length !== length + 1 + nonce.length || request[length] !== nonce.length) return false;
  // From the end: there lies what differs.
  for (let at = nonce.length - 1; at >= 0; at--) {
    if (request[length + 1 + at] !== nonce.charCodeAt(at)) return false;
  }
  for (let at = length - 1; at >= 0; at--) if (request[at] !== head[at]) return false;
  return true;
}
