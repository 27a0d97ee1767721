/**
 * What responses of delta are made of. Most streams are sent the same resources at the same time: the list of them is
 * made once, and what is large is joined once, and shared.
 */
import type { Resource, TypeUrl } from './resource.ts';
import type { Entry } from './table.ts';
import { joinShared } from './wire.ts';

/** The resources of a response, and their framed bytes. */
export interface Batch {
  readonly forms: ReadonlyMap<string, Resource>;
  readonly chunks: readonly Uint8Array[];
}

export interface Batches {
  /** The batch of these entries, in this order. */
  of(type: TypeUrl, entries: readonly Entry[], now: number): Batch;
  /** When `forget` wants to be called next; infinite when nothing is kept. */
  readonly forgetAt: number;
  /** Forgets what was not asked for in a while. */
  forget(now: number): void;
}

/** Responses that are split are sent in turns: some of them are under way at once. */
const maxKept = 4;

/** A thousand streams that connect at once come in seconds; what they are sent together is worth keeping so long. */
const keepMs = 5_000;

/** From here on one piece is better than many: a stream's first fill has thousands. */
const joinBytes = 16 * 1024;

interface Kept {
  readonly entries: readonly Entry[];
  readonly batch: Batch;
  usedAt: number;
}

export function createBatches(): Batches {
  const kept = new Map<TypeUrl, readonly Kept[]>();
  /** Of one entry: these are no more than what the entry is. */
  const alone = new WeakMap<Entry, Batch>();
  let forgetAt = Number.POSITIVE_INFINITY;
  return {
    of(type, entries, now) {
      const [first] = entries;
      if (first !== undefined && entries.length === 1) {
        const one = alone.get(first) ?? make(entries);
        alone.set(first, one);
        return one;
      }
      forgetAt = Math.min(forgetAt, now + keepMs);
      const known = kept.get(type) ?? [];
      for (const one of known) {
        if (!same(one.entries, entries)) continue;
        one.usedAt = now;
        return one.batch;
      }
      const batch = make(entries);
      kept.set(type, [{ entries, batch, usedAt: now }, ...known.slice(0, maxKept - 1)]);
      return batch;
    },
    get forgetAt() {
      return forgetAt;
    },
    forget(now) {
      if (now < forgetAt) return;
      forgetAt = Number.POSITIVE_INFINITY;
      for (const [type, all] of kept) {
        const used = all.filter(({ usedAt }) => usedAt + keepMs > now);
        if (used.length === 0) kept.delete(type);
        else kept.set(type, used);
        for (const { usedAt } of used) forgetAt = Math.min(forgetAt, usedAt + keepMs);
      }
    },
  };
}

function same(a: readonly Entry[], b: readonly Entry[]): boolean {
  if (a === b) return true;
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
  return {
    forms,
    chunks: sizeBytes < joinBytes || entries.length === 1 ? chunks : [joinShared({ chunks, sizeBytes })],
  };
}
