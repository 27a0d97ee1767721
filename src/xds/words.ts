/**
 * Envoy's words about a refusal, made comparable and safe to show. Protobuf's debug text begins with a random mark
 * and holds random spaces, so the same fault reads differently each time; and it may dump the refused resource, of a
 * secret its key as well.
 */
import { type TypeUrl, typeUrls } from './resource.ts';

/** Enough for Envoy's sentence and the start of a dump; the rest helps nobody and is stored for every refusal. */
const maxLength = 600;

export function normaliseWords(text: string): string {
  const words = text
    .replace(/-----BEGIN [^-]+-----[\s\S]*?(?:-----END [^-]+-----|$)/g, '[redacted]')
    .replace(/\b(inline_(?:string|bytes)|private_key|password)(\s*:\s*)"(?:[^"\\]|\\.)*"?/g, '$1$2"[redacted]"')
    .replace(/\bgoo\.gle\/debug(?:only|proto|str)\b/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  return words.length <= maxLength ? words : `${words.slice(0, maxLength - 1)}…`;
}

/**
 * Whether the words tell of a fault of the host and not of the resource: an address in use, or one that cannot be
 * bound. Such a refusal says nothing about other nodes, and may be gone when it is tried again.
 */
export function isHostFault(type: TypeUrl, words: string): boolean {
  if (type !== typeUrls.listener) return false;
  return /cannot bind|address already in use|cannot assign requested address|failed to (?:bind|listen)|cannot listen/i.test(
    words,
  );
}
