import { X509Certificate } from 'node:crypto';
import { InvariantError } from '../lib/errors.ts';
import { certificatePin } from '../lib/join-token.ts';
import { objectKey, storeKey } from '../model/index.ts';
import {
  type AuthorityRecord,
  planRotation,
  type RotationInput,
  type RotationStep,
  startRotation,
} from '../plan/index.ts';
import type { Store, Transaction } from '../store/store.ts';
import { createRoot, type Root } from './certificates.ts';

/** The authority as it stands in the store. A value: what is signed with it is committed only while it stands. */
export interface AuthorityState {
  readonly record: AuthorityRecord;
  /** The root that signs for nodes, and the one that signs for controllers. */
  readonly signing: Root;
  readonly serving: Root;
  /** Certificates of all roots whose signatures count, PEM. */
  readonly bundle: string;
  /** Fingerprint of the signing root, as join tokens carry it. */
  readonly pin: string;
  /** Holds as long as the store has this very state. */
  readonly check: Transaction['checks'][number];
}

/**
 * The authority of one installation, in the store: its public part in the plan, the keys of its roots where they are
 * sealed. One for each controller; all that controllers do to it is by compare-and-set, so that it is one. What follows
 * from a rotation that was begun is for the leader alone.
 */
export interface Authority {
  readonly state: AuthorityState;
  /** Reads it anew. Listeners are called when it is another. */
  refresh(): Promise<AuthorityState>;
  onChange(listener: () => void): () => void;
  /** Begins to replace the root. False: that is under way already. */
  rotate(): Promise<boolean>;
  /** How far a rotation is, by what is known of it here. */
  step(input: RotationInput): RotationStep;
  /** Takes a rotation as far as it can go now. It writes to `store`, which is that of a leader. */
  advance(input: RotationInput, store: Store): Promise<RotationStep>;
}

export interface AuthorityOptions {
  readonly store: Store;
  readonly newId: () => string;
  readonly now: () => number;
}

/** There is one; a second one would be another trust domain. */
const recordKey = storeKey('authority', 'nodes');

/** Opens the authority; the first controller of an installation makes it. */
export async function openAuthority({ store, newId, now }: AuthorityOptions): Promise<Authority> {
  const listeners = new Set<() => void>();
  let state = (await read()) ?? (await create());

  async function create(): Promise<AuthorityState> {
    const trustDomain = `fairway-${newId().slice(0, 8)}`;
    const root = await createRoot(trustDomain, now());
    const record: AuthorityRecord = {
      trustDomain,
      roots: [{ id: root.id, certificate: root.certificate }],
      signing: root.id,
      serving: root.id,
      servingSince: new Date(now()).toISOString(),
    };
    await write({ key: recordKey, modRevision: 0 }, record, { added: root });
    const made = await read();
    if (made === undefined) throw new InvariantError('opening the authority: it vanished');
    return made;
  }

  /** False: another one was faster. */
  async function write(
    check: Transaction['checks'][number],
    record: AuthorityRecord,
    { added, dropped = [] }: { readonly added?: Root; readonly dropped?: readonly string[] },
    to = store,
  ): Promise<boolean> {
    const puts = [{ key: recordKey, value: JSON.stringify(record) }];
    if (added !== undefined) puts.push({ key: keyOf(added.id), value: JSON.stringify({ key: added.key }) });
    const outcome = await to.commit({ id: newId(), checks: [check], puts, deletes: dropped.map(keyOf) });
    return outcome.committed;
  }

  async function read(): Promise<AuthorityState | undefined> {
    for (;;) {
      const entry = await store.get(recordKey);
      if (entry === undefined) return undefined;
      const record = JSON.parse(entry.value) as AuthorityRecord;
      const [signing, serving] = await Promise.all([rootOf(record, record.signing), rootOf(record, record.serving)]);
      // A root that was dropped meanwhile has no key: the record is another, too.
      if (signing === undefined || serving === undefined) {
        if ((await store.get(recordKey))?.modRevision !== entry.modRevision) continue;
        throw new InvariantError('reading the authority: the key of a root is missing');
      }
      return {
        record,
        signing,
        serving,
        bundle: record.roots.map(({ certificate }) => certificate).join(''),
        pin: pinOf(signing.certificate),
        check: { key: recordKey, modRevision: entry.modRevision },
      };
    }
  }

  async function rootOf(record: AuthorityRecord, id: string): Promise<Root | undefined> {
    const root = record.roots.find((one) => one.id === id);
    const entry = await store.get(keyOf(id));
    if (root === undefined || entry === undefined) return undefined;
    const { key } = JSON.parse(entry.value) as { readonly key: string };
    return { ...root, key };
  }

  async function refresh(): Promise<AuthorityState> {
    const next = await read();
    if (next === undefined) throw new InvariantError('reading the authority: it is gone');
    if (next.check.modRevision !== state.check.modRevision) {
      state = next;
      for (const listener of listeners) listener();
    }
    return state;
  }

  return {
    get state() {
      return state;
    },
    refresh,
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    async rotate() {
      const { record, check } = await refresh();
      if (record.roots.length > 1) return false;
      const root = await createRoot(record.trustDomain, now());
      const next = startRotation(record, { id: root.id, certificate: root.certificate });
      const written = next !== undefined && (await write(check, next, { added: root }));
      await refresh();
      return written;
    },
    step: (input) => planRotation(state.record, input),
    async advance(input, fenced) {
      // As a rule there is nothing to do, which is found without the store: its changes are told by `refresh` anyway.
      const glance = planRotation(state.record, input);
      if (glance.kind !== 'write') return glance;
      const { record, check } = await refresh();
      const step = planRotation(record, input);
      if (step.kind !== 'write') return step;
      const kept = new Set(step.record.roots.map(({ id }) => id));
      const dropped = record.roots.flatMap(({ id }) => (kept.has(id) ? [] : [id]));
      await write(check, step.record, { dropped }, fenced);
      await refresh();
      return step;
    },
  };
}

function keyOf(root: string): string {
  return storeKey('authorityKey', root);
}

/** Of a certificate in PEM. */
export function pinOf(certificate: string): string {
  return certificatePin(new X509Certificate(certificate).raw);
}

/** Key of the Node object of a name. */
export function nodeKey(name: string): string {
  return objectKey('Node', undefined, name);
}
