/**
 * What one client holds of one type. Nearly all clients hold the very same forms: these stand in an edition, a map that
 * never changes and is shared, and a stream has for itself only what it holds otherwise.
 *
 *   edition ──a large response, or many small ones──▶ edition   made by the first stream, found by those that follow
 */
import type { Form } from './forms.ts';
import { getOrMake } from './multi-map.ts';
import type { TypeUrl } from './resource.ts';
import { isKnownType } from './types.ts';

/** Names with their new forms; undefined: the client has none any more. */
type Changes = ReadonlyMap<string, Form | undefined>;

/** Own changes become part of an edition when there are enough of them, and they are this part of it. */
const maxOwnShare = 1 / 8;
/** Editions made from one that are remembered there: streams do not all do the same in the same order. */
const maxNext = 4;

interface Edition {
  readonly forms: ReadonlyMap<string, Form>;
  /** What it was made by, from the one before. */
  readonly changes: Changes;
  /** Those made from it, newest first. They live as long as streams hold them. */
  next: readonly WeakRef<Edition>[];
}

/** The editions of all types; one for a server. */
export class Editions {
  /** Fewer changes are not worth an edition. */
  readonly shareFrom: number;
  readonly #empty = new Map<TypeUrl, Edition>();
  readonly #newest = new Map<TypeUrl, WeakRef<Edition>>();

  constructor(shareFrom: number) {
    this.shareFrom = shareFrom;
  }

  /** The one that holds nothing, which all streams begin with. */
  empty(type: TypeUrl): Edition {
    const make = (): Edition => ({ forms: new Map(), changes: new Map(), next: [] });
    // Of types that clients invent, nothing is kept.
    return isKnownType(type) ? getOrMake(this.#empty, type, make) : make();
  }

  /** The one made last, for streams that came to hold the same by other ways. */
  newest(type: TypeUrl): Edition | undefined {
    return this.#newest.get(type)?.deref();
  }

  /** What becomes of an edition by changes, which are not touched any more. */
  after(type: TypeUrl, edition: Edition, changes: Changes): Edition {
    const known = nextBy(edition, changes);
    if (known !== undefined) return known;
    const made: Edition = { forms: applied(edition.forms, changes), changes, next: [] };
    const reference = new WeakRef(made);
    const others = edition.next.filter((one) => one.deref() !== undefined);
    edition.next = [reference, ...others].slice(0, maxNext);
    if (isKnownType(type)) this.#newest.set(type, reference);
    return made;
  }
}

/** The edition that came of this one by the same changes. */
function nextBy(edition: Edition, changes: Changes): Edition | undefined {
  for (const reference of edition.next) {
    const next = reference.deref();
    if (next !== undefined && isSame(next.changes, changes)) return next;
  }
  return undefined;
}

function isSame(a: Changes, b: Changes): boolean {
  if (a === b) return true;
  if (a.size !== b.size) return false;
  for (const [name, form] of a) if (b.get(name) !== form || !b.has(name)) return false;
  return true;
}

function applied(forms: Edition['forms'], changes: Changes): Edition['forms'] {
  const after = new Map(forms);
  for (const [name, form] of changes) {
    if (form === undefined) after.delete(name);
    else after.set(name, form);
  }
  return after;
}

/** Reads and changes like a map. */
export class Holdings {
  readonly #type: TypeUrl;
  readonly #editions: Editions;
  #edition: Edition;
  #own = new Map<string, Form | undefined>();
  #size = 0;

  constructor(type: TypeUrl, editions: Editions) {
    this.#type = type;
    this.#editions = editions;
    this.#edition = editions.empty(type);
  }

  get size(): number {
    return this.#size;
  }

  get(name: string): Form | undefined {
    const own = this.#own;
    if (own.size > 0) {
      const form = own.get(name);
      if (form !== undefined || own.has(name)) return form;
    }
    return this.#edition.forms.get(name);
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  set(name: string, form: Form): void {
    if (!this.has(name)) this.#size += 1;
    if (this.#edition.forms.get(name) === form) this.#own.delete(name);
    else this.#own.set(name, form);
    this.#shareMany();
  }

  delete(name: string): void {
    if (!this.has(name)) return;
    this.#size -= 1;
    if (this.#edition.forms.has(name)) this.#own.set(name, undefined);
    else this.#own.delete(name);
    this.#shareMany();
  }

  /** Sets all of them. The map is not changed any more, and the same one for as many streams as may be. */
  setAll(forms: ReadonlyMap<string, Form>): void {
    if (forms.size < this.#editions.shareFrom) {
      for (const [name, form] of forms) this.set(name, form);
      return;
    }
    const changes = this.#own.size === 0 ? forms : new Map([...this.#own, ...forms]);
    this.#to(this.#editions.after(this.#type, this.#edition, changes), new Map());
  }

  *keys(): Generator<string> {
    for (const [name] of this) yield name;
  }

  *values(): Generator<Form> {
    for (const [, form] of this) yield form;
  }

  /** As of the beginning, but for changes of single names: these may show or not. */
  *[Symbol.iterator](): Generator<[string, Form]> {
    const edition = this.#edition;
    const own = this.#own;
    for (const entry of edition.forms) if (!own.has(entry[0])) yield entry;
    for (const [name, form] of own) if (form !== undefined) yield [name, form];
  }

  /** So many own changes are kept at most. */
  get #maxOwn(): number {
    return Math.max(this.#editions.shareFrom, this.#edition.forms.size * maxOwnShare);
  }

  #shareMany(): void {
    if (this.#own.size >= this.#maxOwn) this.#share();
  }

  /** Makes own changes part of an edition. */
  #share(): void {
    const known = nextBy(this.#edition, this.#own);
    if (known !== undefined) {
      this.#to(known, new Map());
      return;
    }
    const newest = this.#editions.newest(this.#type);
    const own = newest && this.#changesSince(newest, this.#maxOwn / 2);
    if (newest !== undefined && own !== undefined) this.#to(newest, own);
    else this.#to(this.#editions.after(this.#type, this.#edition, this.#own), new Map());
  }

  #to(edition: Edition, own: Map<string, Form | undefined>): void {
    this.#edition = edition;
    this.#own = own;
    let size = edition.forms.size;
    for (const [name, form] of own) {
      const isThere = edition.forms.has(name);
      if (form === undefined) size -= isThere ? 1 : 0;
      else size += isThere ? 0 : 1;
    }
    this.#size = size;
  }

  /** What is held otherwise than in another edition; undefined: more than `max` names. */
  #changesSince({ forms }: Edition, max: number): Map<string, Form | undefined> | undefined {
    const changes = new Map<string, Form | undefined>();
    if (Math.abs(forms.size - this.#size) > max) return undefined;
    for (const [name, form] of forms) {
      const held = this.get(name);
      if (held !== form) changes.set(name, held);
      if (changes.size > max) return undefined;
    }
    for (const [name, form] of this) {
      if (!forms.has(name)) changes.set(name, form);
      if (changes.size > max) return undefined;
    }
    return changes;
  }
}
