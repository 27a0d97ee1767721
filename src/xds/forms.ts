/**
 * What clients made of the forms of resources: the last one that any stream accepted, and those that were convicted.
 * One for the whole server. A convicted form is sent to nobody again (rule 11), also after a restart, when the
 * convictions are given back at start; it is acquitted when a client accepts the same bytes after all.
 */
import { getOrMake } from './multi-map.ts';
import type { Part, Resource, TypeUrl } from './resource.ts';

/** One form of a resource that a client holds: a Resource of the table, of now or earlier, or one it brought along. */
export type Form = Resource | BroughtForm;

/** Of what a client holds from an earlier stream only the hash is known, unless the table has the same. */
export interface BroughtForm {
  readonly hash: string;
  readonly needs: undefined;
  readonly parts: readonly [];
}

export interface Conviction {
  readonly type: TypeUrl;
  readonly name: string;
  readonly hash: string;
  /** The client's words, normalised. */
  readonly words: string;
}

export interface Forms {
  /** Notes that a client has this form. True when it had been convicted and is acquitted by that. */
  accept(type: TypeUrl, name: string, form: Resource): boolean;
  /** The same content is made of other parts now: what clients accepted is this. */
  renew(resource: Resource): void;
  /** The last form that any client accepted. */
  accepted(type: TypeUrl, name: string): Resource | undefined;
  /** The parts to blame for a refusal of `form`: those that differ from the last accepted form; failing that, all. */
  blame(type: TypeUrl, name: string, form: Resource): readonly Part[];
  convict(conviction: Conviction): void;
  conviction(type: TypeUrl, name: string, hash: string): Conviction | undefined;
  /** All convictions, oldest first, to be stored and given to `createForms` after a restart. */
  convictions(): readonly Conviction[];
  /** The name left the table: its accepted form is of no more use. */
  forget(type: TypeUrl, name: string): void;
}

/** Convictions are rare; the bound is there so that a generator of bad resources cannot fill the memory. */
const maxConvictions = 10_000;

export function createForms(convicted: readonly Conviction[] = []): Forms {
  const acceptedForms = new Map<TypeUrl, Map<string, Resource>>();
  const convictions = new Map<string, Conviction>();
  for (const conviction of convicted)
    convictions.set(keyOf(conviction.type, conviction.name, conviction.hash), conviction);

  return {
    accept(type, name, form) {
      const byName = getOrMake(acceptedForms, type, () => new Map<string, Resource>());
      if (byName.get(name) === form) return false;
      byName.set(name, form);
      return convictions.size > 0 && convictions.delete(keyOf(type, name, form.hash));
    },
    renew(resource) {
      const byName = acceptedForms.get(resource.type);
      if (byName?.get(resource.name)?.hash === resource.hash) byName.set(resource.name, resource);
    },
    accepted(type, name) {
      return acceptedForms.get(type)?.get(name);
    },
    blame(type, name, form) {
      const good = new Set(
        acceptedForms
          .get(type)
          ?.get(name)
          ?.parts.map((part) => `${part.hash} ${part.unit}`),
      );
      const changed = form.parts.filter((part) => !good.has(`${part.hash} ${part.unit}`));
      return changed.length > 0 ? changed : form.parts;
    },
    convict(conviction) {
      convictions.set(keyOf(conviction.type, conviction.name, conviction.hash), conviction);
      if (convictions.size <= maxConvictions) return;
      for (const oldest of convictions.keys()) {
        convictions.delete(oldest);
        break;
      }
    },
    conviction(type, name, hash) {
      return convictions.size === 0 ? undefined : convictions.get(keyOf(type, name, hash));
    },
    convictions() {
      return [...convictions.values()];
    },
    forget(type, name) {
      acceptedForms.get(type)?.delete(name);
    },
  };
}

function keyOf(type: TypeUrl, name: string, hash: string): string {
  return `${hash} ${type} ${name}`;
}
