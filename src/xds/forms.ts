/**
 * What clients made of the forms of resources: the last one that each version of client accepted, and those that were
 * convicted. One for the whole server. A convicted form is sent to no client of that version again (rule 11), also after
 * a restart, when the convictions are given back at start; it is acquitted when such a client accepts the same bytes
 * after all. After a refusal a name is on trial: what is new of it goes to one client of the version first.
 */
import { getOrMake } from '../lib/multi-map.ts';
import type { Part, Resource, TypeUrl } from './resource.ts';

/** One form of a resource that a client holds: a Resource of the table, of now or earlier, or one it brought along. */
export type Form = Resource | BroughtForm;

/** Of what a client holds from an earlier stream only the hash is known, unless the table has the same. */
export interface BroughtForm {
  readonly hash: string;
  readonly needs: undefined;
  readonly parts: readonly [];
}

/** Name and release of what a client runs, `envoy 1.40.0`: what one of them refuses, all of the same do. */
export type Version = string;

export interface Conviction {
  readonly type: TypeUrl;
  readonly name: string;
  readonly hash: string;
  readonly version: Version;
  /** The client's words, normalised. */
  readonly words: string;
}

export interface Accepted {
  readonly form: Resource;
  /** The newest revision of the table of which it is known that it holds the form. */
  readonly revision: number;
}

export interface Forms {
  /**
   * Notes that a client has this form, as of a revision of the table. `news`: no client of the version had it or a newer
   * one; `acquitted`: it had been convicted.
   */
  accept(
    version: Version,
    type: TypeUrl,
    name: string,
    form: Resource,
    revision: number,
  ): 'known' | 'news' | 'acquitted';
  /**
   * Notes that a client has all of these, as of a revision, while nothing is in doubt. The map is never changed, and the
   * same one for as many clients as may be.
   */
  acceptAll(version: Version, type: TypeUrl, forms: ReadonlyMap<string, Resource>, revision: number): void;
  /** The same content is made of other parts now: what clients accepted is this. */
  renew(resource: Resource, revision: number): void;
  /** The newest form that a client of the version accepted: a late answer to an older one does not undo it. */
  acceptedBy(version: Version, type: TypeUrl, name: string): Accepted | undefined;
  /** The newest form that any client accepted. */
  accepted(type: TypeUrl, name: string): Accepted | undefined;
  /**
   * The parts to blame for a refusal of `form`: those that differ from the form that the version accepted last; failing
   * that, all.
   */
  blame(version: Version, type: TypeUrl, name: string, form: Resource): readonly Part[];
  convict(conviction: Conviction): void;
  conviction(version: Version, type: TypeUrl, name: string, hash: string): Conviction | undefined;
  /** By all versions that refused the form. */
  convictionsOf(type: TypeUrl, name: string, hash: string): readonly Conviction[];
  /** All convictions, oldest first, to be stored and given to `createForms` after a restart. */
  convictions(): readonly Conviction[];
  /** Anything was convicted, or is in doubt. */
  readonly hasDoubts: boolean;
  /** Something that was refused held the name: what is new of it goes to one client of the version first. */
  doubt(version: Version, type: TypeUrl, name: string): void;
  isInDoubt(version: Version, type: TypeUrl, name: string): boolean;
  /** Whether the name is in doubt, and no client of the version has accepted this form of it. */
  isOnTrial(version: Version, type: TypeUrl, name: string, hash: string): boolean;
  /** Names in doubt. */
  readonly trials: Iterable<Trial>;
  /**
   * A client of the version accepted what is new of the name. Where no form of it was ever convicted, it is beyond doubt
   * by that.
   */
  prove(version: Version, type: TypeUrl, name: string): void;
  /** The name is beyond doubt for all; what was convicted stays so. */
  clear(type: TypeUrl, name: string): void;
  /** The name left the table: its accepted forms are of no more use. */
  forget(type: TypeUrl, name: string): void;
}

export interface Trial {
  readonly type: TypeUrl;
  readonly name: string;
  readonly versions: ReadonlySet<Version>;
}

/** Refusals are rare; the bound is there so that a generator of bad resources cannot fill the memory. */
const maxConvictions = 10_000;

const none: readonly never[] = [];

export function createForms(convicted: readonly Conviction[] = []): Forms {
  const accepted = new Map<Version, Map<TypeUrl, Map<string, Accepted>>>();
  /** By name, then by form. */
  const convictions = new Map<string, Map<string, Conviction[]>>();
  /** Maps of forms that were accepted as a whole, and by whom. */
  const whole = new WeakMap<ReadonlyMap<string, Resource>, Set<Version>>();
  const trials = new Map<string, { type: TypeUrl; name: string; versions: Set<Version> }>();
  /** Oldest first. */
  const all = new Set<Conviction>();

  const forms: Forms = {
    accept(version, type, name, form, revision) {
      const byType = getOrMake(accepted, version, () => new Map<TypeUrl, Map<string, Accepted>>());
      const byName = getOrMake(byType, type, () => new Map<string, Accepted>());
      const before = byName.get(name);
      if (before?.form === form) return 'known';
      const isOlder = before !== undefined && revision < before.revision;
      if (!isOlder) byName.set(name, { form, revision });
      const conviction = all.size === 0 ? undefined : forms.conviction(version, type, name, form.hash);
      if (conviction !== undefined) remove(conviction);
      if (conviction !== undefined) return 'acquitted';
      return isOlder || before?.form.hash === form.hash ? 'known' : 'news';
    },
    acceptAll(version, type, map, revision) {
      const versions = whole.get(map);
      // What they accepted since is newer than this.
      if (versions?.has(version) === true) return;
      for (const [name, form] of map) forms.accept(version, type, name, form, revision);
      if (versions === undefined) whole.set(map, new Set([version]));
      else versions.add(version);
    },
    renew(form, revision) {
      for (const byType of accepted.values()) {
        const byName = byType.get(form.type);
        if (byName?.get(form.name)?.form.hash === form.hash) byName.set(form.name, { form, revision });
      }
    },
    acceptedBy: (version, type, name) => accepted.get(version)?.get(type)?.get(name),
    accepted(type, name) {
      let newest: Accepted | undefined;
      for (const byType of accepted.values()) {
        const found = byType.get(type)?.get(name);
        if (found !== undefined && (newest === undefined || found.revision > newest.revision)) newest = found;
      }
      return newest;
    },
    blame(version, type, name, form) {
      const parts = forms.acceptedBy(version, type, name)?.form.parts ?? none;
      const good = new Set(parts.map((part) => `${part.hash} ${part.unit}`));
      const changed = form.parts.filter((part) => !good.has(`${part.hash} ${part.unit}`));
      return changed.length > 0 ? changed : form.parts;
    },
    convict(conviction) {
      const { version, type, name, hash } = conviction;
      const before = forms.conviction(version, type, name, hash);
      if (before !== undefined) remove(before);
      const ofName = getOrMake(convictions, nameKey(type, name), () => new Map<string, Conviction[]>());
      getOrMake(ofName, hash, (): Conviction[] => []).push(conviction);
      all.add(conviction);
      forms.doubt(version, type, name);
      const [oldest] = all;
      if (all.size > maxConvictions && oldest !== undefined) remove(oldest);
    },
    conviction(version, type, name, hash) {
      return forms.convictionsOf(type, name, hash).find((conviction) => conviction.version === version);
    },
    convictionsOf(type, name, hash) {
      return all.size === 0 ? none : (convictions.get(nameKey(type, name))?.get(hash) ?? none);
    },
    convictions: () => [...all],
    get hasDoubts() {
      return all.size > 0 || trials.size > 0;
    },
    doubt(version, type, name) {
      getOrMake(trials, nameKey(type, name), () => ({ type, name, versions: new Set<Version>() })).versions.add(
        version,
      );
      const [oldest] = trials.keys();
      if (trials.size > maxConvictions && oldest !== undefined) trials.delete(oldest);
    },
    isInDoubt(version, type, name) {
      return trials.size > 0 && trials.get(nameKey(type, name))?.versions.has(version) === true;
    },
    isOnTrial(version, type, name, hash) {
      if (!forms.isInDoubt(version, type, name)) return false;
      return forms.acceptedBy(version, type, name)?.form.hash !== hash;
    },
    trials: { [Symbol.iterator]: () => trials.values() },
    prove(version, type, name) {
      const key = nameKey(type, name);
      const trial = trials.get(key);
      if (trial === undefined || convictions.has(key)) return;
      trial.versions.delete(version);
      if (trial.versions.size === 0) trials.delete(key);
    },
    clear(type, name) {
      trials.delete(nameKey(type, name));
    },
    forget(type, name) {
      for (const byType of accepted.values()) byType.get(type)?.delete(name);
    },
  };

  function remove(conviction: Conviction): void {
    const { type, name, hash } = conviction;
    all.delete(conviction);
    const ofName = convictions.get(nameKey(type, name));
    const left = ofName?.get(hash)?.filter((one) => one !== conviction) ?? none;
    if (left.length > 0) ofName?.set(hash, [...left]);
    else ofName?.delete(hash);
    if (ofName?.size === 0) convictions.delete(nameKey(type, name));
  }

  for (const conviction of convicted) forms.convict(conviction);
  return forms;
}

function nameKey(type: TypeUrl, name: string): string {
  return `${type} ${name}`;
}
