import { decodeStored, historyKey, type ObjectKey } from '../model/index.ts';
import type { Suspect } from '../status/index.ts';
import type { Store } from '../store/store.ts';
import type { Logger } from '../telemetry/log.ts';

/** The specs of good generations, from history. Kept as long as a search holds the object, which may need it again. */
export interface GoodSpecs {
  /** Reads those that are not known yet. */
  load(suspects: readonly Suspect[]): Promise<void>;
  /** The spec of the good generation; undefined when there is none, or it is no longer kept. */
  get(suspect: Suspect): unknown;
  forget(unit: ObjectKey): void;
}

/** Reads under way at a time: a search may hold thousands of objects. */
const atOnce = 64;

export function createGoodSpecs(store: Store, log: Logger): GoodSpecs {
  const known = new Map<ObjectKey, { readonly uid: string; readonly generation: number; readonly spec: unknown }>();

  function get({ unit, uid, good }: Suspect): { readonly spec: unknown } | undefined {
    const found = known.get(unit);
    return found?.uid === uid && found.generation === good ? found : undefined;
  }

  async function read({ unit, uid, good }: Suspect): Promise<void> {
    if (good === null) return;
    const entry = await store.get(historyKey(unit, good));
    if (entry === undefined) log.warn({ event: 'pinned_generation_missing', object: unit, generation: good });
    known.set(unit, { uid, generation: good, spec: entry === undefined ? undefined : decodeStored(entry).spec });
  }

  return {
    async load(suspects) {
      const missing = suspects.filter((suspect) => suspect.good !== null && get(suspect) === undefined);
      for (let at = 0; at < missing.length; at += atOnce) await Promise.all(missing.slice(at, at + atOnce).map(read));
    },
    get: (suspect) => get(suspect)?.spec,
    forget: (unit) => known.delete(unit),
  };
}
