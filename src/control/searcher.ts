import { createLatest } from '../lib/latest.ts';
import { type ObjectKey, storeKey } from '../model/index.ts';
import { encodeSearch, partsOfWrite, piecesOf, type SearchRecord, surplusPieces } from '../status/index.ts';
import type { Store, Transaction } from '../store/store.ts';
import type { Logger } from '../telemetry/log.ts';
import { kindOf } from './adoption.ts';
import { isHeldElsewhere } from './held.ts';
import type { Stored } from './long-records.ts';
import type { Mirror } from './mirror.ts';
import { advance, type SearchInput, type Standing } from './search.ts';
import { objectOf } from './world.ts';

/** Looks for the objects at fault where proxies refused something, and holds them back. The leader's alone. */
export interface Searcher {
  /** The View has changed. */
  nudge(): void;
  close(): Promise<void>;
}

export interface SearcherOptions {
  readonly mirror: Mirror;
  readonly store: Store;
  readonly newId: () => string;
  readonly log: Logger;
  /** An object was found to be at fault: the generation that was refused, and the one that goes on being served. */
  readonly onConvicted?: (object: ObjectKey, found: { refused: number; good: number | null; words: string }) => void;
}

/** Soon, so that what is good is served to a proxy that connects just after a refusal. */
const holdOffMs = 10;

/** The View takes in what was committed in milliseconds, and the largest change in seconds. */
const reachTimeoutMs = 60_000;

/** Each step is decided from the View alone: there are as many searches as there are refusals, which are few. */
export function createSearcher({ mirror, store, newId, log, onConvicted }: SearcherOptions): Searcher {
  async function reconcile(): Promise<void> {
    const { searches, rejections } = mirror.records;
    for (const key of new Set([...rejections.keys(), ...searches.keys()])) {
      const search = searches.get(key);
      const { record, over } = advance(inputOf(key, search));
      if (record === search?.record && !over) continue;
      report(key, search?.record, record);
      await write(key, search, record, over);
    }
  }

  function inputOf(key: string, search: Stored<SearchRecord> | undefined): SearchInput {
    const rejection = mirror.records.rejections.get(key)?.record;
    const resource = rejection ?? search?.record;
    return {
      record: search?.record,
      since: search?.revision ?? 0,
      rejection,
      hash: resource === undefined ? undefined : hashOf(mirror, resource),
      standing: (unit) => standingOf(mirror, unit),
      isFrame: (unit) => kindOf(unit) === 'VirtualService',
      isHeldElsewhere: (unit) => isHeldElsewhere(mirror.records.held(unit), key),
    };
  }

  async function write(
    key: string,
    before: Stored<SearchRecord> | undefined,
    after: SearchRecord | undefined,
    over: boolean,
  ): Promise<void> {
    const at = storeKey('pin', key);
    const puts = after === undefined ? [] : piecesOf(at, encodeSearch(after), newId());
    const deletes = surplusPieces(at, puts.length, before?.pieces ?? 0);
    const checks: Transaction['checks'][number][] = [];
    const rejection = mirror.records.rejections.get(key);
    if (over && rejection !== undefined) {
      deletes.push(...surplusPieces(storeKey('rejection', key), 0, rejection.pieces));
      // Unless it was written again just now: then it is looked at again.
      if (rejection.pieces === 1) checks.push({ key: storeKey('rejection', key), modRevision: rejection.revision });
    }
    for (const part of partsOfWrite(puts, deletes)) {
      const outcome = await store.commit({ id: newId(), checks, ...part });
      // Decided anew from a View that does not know of it yet, the step would be written twice, and what proxies
      // said in between would seem to be of an older one.
      if (outcome.committed) await mirror.reached(outcome.revision, { timeoutMs: reachTimeoutMs });
    }
  }

  function report(key: string, before: SearchRecord | undefined, after: SearchRecord | undefined): void {
    const known = new Set(before?.guilty.map(({ unit, refused }) => `${unit} ${refused}`));
    for (const { unit, refused, good, evidence } of after?.guilty ?? []) {
      if (known.has(`${unit} ${refused}`)) continue;
      log.warn({ event: 'object_convicted', object: unit, resource: key, refused, good, words: evidence.words });
      onConvicted?.(unit, { refused, good, words: evidence.words });
    }
    const counts = { trial: after?.trial.length ?? 0, hot: after?.hot.length ?? 0, cold: after?.cold.length ?? 0 };
    log.info({ event: 'search_step', resource: key, guilty: after?.guilty.length ?? 0, ...counts });
  }

  const latest = createLatest({
    task: reconcile,
    holdOffMs,
    onError: (error) => log.warn({ event: 'searches_not_stored', err: error }),
  });
  return { nudge: () => latest.nudge(), close: () => latest.close() };
}

function standingOf(mirror: Mirror, unit: ObjectKey): Standing | undefined {
  const metadata = objectOf(mirror, unit)?.metadata;
  return metadata && { uid: metadata.uid, generation: metadata.generation, revision: Number(metadata.revision) };
}

/** Hash of a resource as the View makes it now. */
function hashOf(
  { world }: Mirror,
  { type, name }: { readonly type: string; readonly name: string },
): string | undefined {
  for (const output of world.translation.outputs) {
    const resource = world.kernel.get(output, name);
    if (resource?.type === type) return resource.hash;
  }
  return undefined;
}
