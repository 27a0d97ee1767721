import { X509Certificate } from 'node:crypto';
import { FairwayError, InvariantError } from '../lib/errors.ts';
import { certificatePin } from '../lib/join-token.ts';
import { objectKey, storeKey } from '../model/index.ts';
import {
  type AuthorityRecord,
  planRotation,
  type RootRecord,
  type RotationInput,
  type RotationStep,
  startRotation,
  turnTo,
} from '../plan/index.ts';
import type { Store, Transaction } from '../store/store.ts';
import { createRoot, endOf, type Root, type Signer } from './certificates.ts';
import type { ExternalSigner } from './signer.ts';
import type { SignerFiles } from './signer-files.ts';

/** The authority as it stands in the store. A value: what is signed with it is committed only while it stands. */
export interface AuthorityState {
  readonly record: AuthorityRecord;
  /** What signs for nodes here, and what signs for controllers. */
  readonly signing: Signer;
  readonly serving: Signer;
  /** Certificates of all roots whose signatures count, PEM. */
  readonly bundle: string;
  readonly roots: readonly X509Certificate[];
  /** Fingerprint of the root of what signs for controllers, as join tokens carry it: a new node believes it alone. */
  readonly pin: string;
  /** Holds as long as the store has this very state. */
  readonly check: Transaction['checks'][number];
}

/**
 * The authority of one installation, in the store: its public part in the plan, the keys of its roots where they are
 * sealed. One for each controller; all that controllers do to it is by compare-and-set, so that it is one. What follows
 * from a rotation that was begun is for the leader alone.
 *
 * With a CA from outside, which each controller has in files, the store knows its root and not its key; another CA below
 * the same root takes its place at once, one below another root by a rotation. Controllers may be given it one after the
 * other: until it is in its own files, each signs with what it has, which is trusted as long as anybody needs it.
 */
export interface Authority {
  /** What signs is in files here. */
  readonly isExternal: boolean;
  readonly state: AuthorityState;
  /** Reads it anew. Listeners are called when it is another. */
  refresh(): Promise<AuthorityState>;
  onChange(listener: () => void): () => void;
  /** When the first ends of all that sign here, milliseconds since 1970, and whether it is time to replace it. */
  readonly expiry: { readonly at: number; readonly isNear: boolean };
  /** Begins to replace the root. False: that is under way already. Throws `ReadOnly` where what signs is in files. */
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
  /** A CA from outside, to sign with; absent: the authority makes its own roots. */
  readonly files?: SignerFiles | undefined;
}

interface MadeRoot {
  readonly root: RootRecord;
  /** Its key is to be kept, too. */
  readonly added?: Root;
}

/** There is one; a second one would be another trust domain. */
const recordKey = storeKey('authority', 'nodes');

/** Opens the authority; the first controller of an installation makes it. */
export async function openAuthority({ store, newId, now, files }: AuthorityOptions): Promise<Authority> {
  const listeners = new Set<() => void>();
  /** Of files, newest first: the present one, and former ones whose roots are still trusted. */
  let external: readonly ExternalSigner[] = files === undefined ? [] : [files.current];
  /** The newest of which the store was told. */
  let told: ExternalSigner | undefined;
  if (files !== undefined) await takeUp(files.current);
  let state = (await read()) ?? (await create());

  async function create(): Promise<AuthorityState> {
    const trustDomain = `fairway-${newId().slice(0, 8)}`;
    const made: MadeRoot = files === undefined ? await newRoot(trustDomain) : { root: rootOf(files.current) };
    const { root } = made;
    const record: AuthorityRecord = {
      trustDomain,
      roots: [root],
      signing: root.id,
      serving: root.id,
      servingSince: new Date(now()).toISOString(),
    };
    await write({ key: recordKey, modRevision: 0 }, record, made);
    const opened = await read();
    if (opened === undefined) throw new InvariantError('opening the authority: it vanished');
    return opened;
  }

  async function newRoot(trustDomain: string): Promise<MadeRoot> {
    const added = await createRoot(trustDomain, now());
    return { root: { id: added.id, certificate: added.certificate }, added };
  }

  /** False: another one was faster. */
  async function write(
    check: Transaction['checks'][number],
    record: AuthorityRecord,
    { added, dropped = [] }: { readonly added?: Root | undefined; readonly dropped?: readonly string[] },
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
      const own = await Promise.all(record.roots.filter((root) => root.external !== true).map(signerOf));
      // A root that was dropped meanwhile has no key: the record is another, too.
      if (own.includes(undefined)) {
        if ((await store.get(recordKey))?.modRevision !== entry.modRevision) continue;
        throw new InvariantError('reading the authority: the key of a root is missing');
      }
      const signers = [...external, ...own.filter((signer) => signer !== undefined).reverse()];
      const trusted = signers.filter(({ id }) => record.roots.some((root) => root.id === id));
      // Whoever has not been given the CA below the next root yet goes on with what it has.
      const pick = (id: string) => trusted.find((signer) => signer.id === id);
      const signing = pick(record.signing) ?? trusted.at(0);
      if (signing === undefined) throw nothingToSignWith(files !== undefined);
      const serving = pick(record.serving) ?? signing;
      return {
        record,
        signing,
        serving,
        bundle: record.roots.map(({ certificate }) => certificate).join(''),
        roots: record.roots.map(({ certificate }) => new X509Certificate(certificate)),
        pin: pinOf(record.roots.find(({ id }) => id === serving.id)?.certificate ?? ''),
        check: { key: recordKey, modRevision: entry.modRevision },
      };
    }
  }

  /** Of a root whose key is in the store. */
  async function signerOf(root: RootRecord): Promise<Signer | undefined> {
    const entry = await store.get(keyOf(root.id));
    if (entry === undefined) return undefined;
    const { key } = JSON.parse(entry.value) as { readonly key: string };
    return { ...root, key };
  }

  async function refresh(): Promise<AuthorityState> {
    if (files !== undefined) await takeUp(files.current);
    const next = await read();
    if (next === undefined) throw new InvariantError('reading the authority: it is gone');
    external = external.filter((one) => one === files?.current || next.record.roots.some((root) => root.id === one.id));
    const isOther =
      next.check.modRevision !== state.check.modRevision ||
      next.signing.certificate !== state.signing.certificate ||
      next.serving.certificate !== state.serving.certificate;
    if (isOther) {
      state = next;
      for (const listener of listeners) listener();
    }
    return state;
  }

  /** The store is told once of each CA: so the last one that any controller was given is what all turn to. */
  async function takeUp(signer: ExternalSigner): Promise<void> {
    if (signer === told) return;
    // One below the same root takes the place of the former one, whose key nobody needs any more.
    external = [signer, ...external.filter(({ id }) => id !== signer.id)];
    for (;;) {
      const entry = await store.get(recordKey);
      if (entry === undefined) return;
      const record = JSON.parse(entry.value) as AuthorityRecord;
      const next = turnTo(record, rootOf(signer));
      // Two others take turns: it is tried again when they are done, which is a change of the record.
      if (next === undefined) return;
      if (next === record || (await write({ key: recordKey, modRevision: entry.modRevision }, next, {}))) break;
    }
    told = signer;
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
    isExternal: files !== undefined,
    get expiry() {
      const all = [state.signing, state.serving];
      return { at: Math.min(...all.map(endOf)), isNear: all.some((signer) => isNearEnd(signer, now())) };
    },
    async rotate() {
      if (files !== undefined) throw new FairwayError('ReadOnly', filesRotate);
      const { record, check } = await refresh();
      if (record.roots.length > 1) return false;
      const made = await newRoot(record.trustDomain);
      const next = startRotation(record, made.root);
      const written = next !== undefined && (await write(check, next, made));
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
      const dropped = record.roots.flatMap(({ id, external: inFiles }) => (kept.has(id) || inFiles ? [] : [id]));
      await write(check, step.record, { dropped }, fenced);
      await refresh();
      return step;
    },
  };
}

const filesRotate =
  'rotating the authority: certificates are signed by a CA in files of the controllers (caCert, caKey). Give each of them the next one there, and they go over to it, and to its root';

function nothingToSignWith(hasFiles: boolean): FairwayError {
  const words = hasFiles
    ? 'the CA in the files of this controller (caCert) is below a root that the others have given up, or do not know yet: give it theirs'
    : 'certificates of this installation are signed by a CA from outside: name its files (caCert, caKey)';
  return new FairwayError('Internal', `reading the authority: ${words}`);
}

/** The last third of its life, when whatever renews CAs should have done so; a month of a long one. */
function isNearEnd(signer: Signer, now: number): boolean {
  const end = endOf(signer);
  const lifeMs = end - new X509Certificate(signer.certificate).validFromDate.getTime();
  return end - now < Math.min(lifeMs / 3, maxNearMs);
}

const maxNearMs = 30 * 86_400_000;

function rootOf(signer: ExternalSigner): RootRecord {
  return { id: signer.id, certificate: signer.root, external: true };
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
