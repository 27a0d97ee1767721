/**
 * What responses of delta are made of. Most streams are sent the same resources at the same time: the list of them is
 * made once, and what is large is joined once, and shared.
 */
import type { Resource, TypeUrl } from './resource.ts';
import type { Entry } from './table.ts';

/** The resources of a response, and their framed bytes. */
export interface Batch {
  readonly forms: ReadonlyMap<string, Resource>;
  readonly chunks: readonly Uint8Array[];
}

export interface Batches {
  /** The batch of these entries, in this order. */
  of(type: TypeUrl, entries: readonly Entry[]): Batch;
  /** Nobody needs them any more, for now. */
  forget(): void;
}

/** Responses that are split are sent in turns: some of them are under way at once. */
const maxKept = 4;

/** From here on one piece is better than many: a stream's first fill has thousands. */
const joinBytes = 16 * 1024;

export function createBatches(): Batches {
  const kept = new Map<TypeUrl, { readonly entries: readonly Entry[]; readonly batch: Batch }[]>();
  return {
    of(type, entries) {
      const known = kept.get(type);
      for (const one of known ?? []) if (same(one.entries, entries)) return one.batch;
      const batch = make(entries);
      const others = known?.slice(0, maxKept - 1) ?? [];
      kept.set(type, [{ entries, batch }, ...others]);
      return batch;
    },
    forget() {
      if (kept.size > 0) kept.clear();
    },
  };
}

function same(a: readonly Entry[], b: readonly Entry[]): boolean {
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at++) if (a[at] !== b[at]) return false;
  return true;
}

function make(entries: readonly Entry[]): Batch {
  const forms = new Map<string, Resource>();
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for (const { resource, head } of entries) {
    forms.set(resource.name, resource);
    chunks.push(head, resource.bytes);
    sizeBytes += head.byteLength + resource.bytes.byteLength;
  }
  return { forms, chunks: sizeBytes < joinBytes || entries.length === 1 ? chunks : [join(chunks, sizeBytes)] };
}

function join(chunks: readonly Uint8Array[], sizeBytes: number): Uint8Array {
  const joined = new Uint8Array(sizeBytes);
  let at = 0;
  for (const chunk of chunks) {
    joined.set(chunk, at);
    at += chunk.byteLength;
  }
  return joined;
}
