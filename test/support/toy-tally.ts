import type { decodeDeltaResponse } from '../../src/xds/wire.ts';
import { short } from './xds-rig.ts';

/** All that a proxy was sent since it started, or since the last `reset`. */
export interface ToyTally {
  readonly bytes: number;
  /** Streams that ended. */
  readonly ended: number;
  /** `endpoint default/p`: in the very form that it had. */
  readonly repeated: readonly string[];
  /** In a form that it had once, and that was replaced since: each change makes a form that never was. */
  readonly rolledBack: readonly string[];
  /** Taken away although it was there. */
  readonly removed: readonly string[];
  reset(): void;
}

type Held = ReadonlyMap<string, { readonly version: string }>;

/** `heldOf`: what the proxy has of a type at the moment. */
export function createToyTally(heldOf: (type: string) => Held) {
  const former = new Map<string, Set<string>>();
  const empty = () => ({
    bytes: 0,
    ended: 0,
    repeated: [] as string[],
    rolledBack: [] as string[],
    removed: [] as string[],
  });
  return {
    ...empty(),
    reset() {
      Object.assign(this, empty());
    },
    see(bytes: Uint8Array, decoded: ReturnType<typeof decodeDeltaResponse>) {
      this.bytes += bytes.byteLength;
      if (!decoded.ok) return;
      const { typeUrl, resources, removed } = decoded.value;
      const held = heldOf(typeUrl);
      for (const { name, version } of resources) {
        const called = `${short(typeUrl)} ${name}`;
        const before = held.get(name)?.version;
        if (before === version) this.repeated.push(called);
        const forms = former.get(called) ?? new Set();
        former.set(called, forms);
        if (forms.has(version) && before !== version) this.rolledBack.push(called);
        forms.add(version);
      }
      for (const name of removed) if (held.has(name)) this.removed.push(`${short(typeUrl)} ${name}`);
    },
  };
}
