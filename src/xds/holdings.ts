/**
 * What one client holds of one type. Nearly all clients hold the very same forms: these stand in an edition, a map that
 * never changes and is shared, and a stream has for itself only what it holds otherwise.
 *
 *   edition ──a large response, or many small ones──▶ edition   made by the first stream, found by those that follow
 */
import { FewMap } from '../lib/few.ts';
import { getOrMake } from '../lib/multi-map.ts';
import type { Form } from './forms.ts';
import type { TypeUrl } from './resource.ts';
import { isKnownType } from './types.ts';

/** Names with their new forms; undefined: the client has none any more. */
type Changes = Pick<ReadonlyMap<string, Form | undefined>, 'size' | 'get' | 'has'> &
  Iterable<[string, Form | undefined]>;

/** Own changes become part of an edition when there are enough of them, and they are this part of it. */
const maxOwnShare = 1 / 8;
/** Newer forms in an edition, before they become part of its map. */
const maxNewer = 64;
/** Changes of single names that are under way to all streams at the same time. */
const maxRecent = 32;
/** Editions made from one that are remembered there: streams do not all do the same in the same order. */
const maxNext = 4;

interface Edition {
  readonly forms: ReadonlyMap<string, Form>;
  /** Newer forms of some of the names: a copy of these few costs less than one of `forms`. */
  readonly newer: ReadonlyMap<string, Form>;
  /** Those made from it, newest first. They live as long as streams hold them. */
  next: readonly Step[];
}

interface Step {
  readonly changes: Changes;
  readonly edition: WeakRef<Edition>;
}

/** Another form of one name. */
interface SingleStep {
  readonly from: Edition;
  readonly name: string;
  readonly form: Form;
  readonly to: Edition;
}

const noneNewer: ReadonlyMap<string, Form> = new Map();

/** The editions of all types; one for a server. */
export class Editions {
  /** Fewer changes are not worth an edition, unless each is to a name that is held already. */
  readonly shareFrom: number;
  readonly #empty = new Map<TypeUrl, Edition>();
  readonly #newest = new Map<TypeUrl, WeakRef<Edition>>();
  /** The last ones made, newest first: nearly all streams are about to make the same. */
  #recent: readonly SingleStep[] = [];

  constructor(shareFrom: number) {
    this.shareFrom = shareFrom;
  }

  /** The one that holds nothing, which all streams begin with. */
  empty(type: TypeUrl): Edition {
    const make = (): Edition => ({ forms: new Map(), newer: noneNewer, next: [] });
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
    const forms = new Map(edition.forms);
    for (const part of [edition.newer, changes]) {
      for (const [name, form] of part) {
        if (form === undefined) forms.delete(name);
        else forms.set(name, form);
      }
    }
    const made = noteStep(edition, changes, { forms, newer: noneNewer, next: [] });
    if (isKnownType(type)) this.#newest.set(type, new WeakRef(made));
    return made;
  }

  /**
   * What becomes of an edition by another form of a name that it holds. Most changes are that, and a thousand streams
   * make each of them one after another: the first one makes the edition, the others find it.
   */
  afterOne(type: TypeUrl, edition: Edition, name: string, form: Form): Edition {
    for (const step of this.#recent) {
      if (step.from === edition && step.form === form && step.name === name) return step.to;
    }
    const to = this.#makeOne(type, edition, name, form);
    this.#recent = [{ from: edition, name, form, to }, ...this.#recent].slice(0, maxRecent);
    return to;
  }

  #makeOne(type: TypeUrl, edition: Edition, name: string, form: Form): Edition {
    const changes = new Map([[name, form]]);
    const known = nextBy(edition, changes);
    if (known !== undefined) return known;
    if (edition.newer.size >= maxNewer) return this.after(type, edition, changes);
    const newer = new Map(edition.newer).set(name, form);
    return noteStep(edition, changes, { forms: edition.forms, newer, next: [] });
  }
}

/** The edition that came of this one by the same changes. */
function nextBy(edition: Edition, changes: Changes): Edition | undefined {
  for (const step of edition.next) {
    const next = step.edition.deref();
    if (next !== undefined && isSame(step.changes, changes)) return next;
  }
  return undefined;
}

function noteStep(edition: Edition, changes: Changes, made: Edition): Edition {
  const others = edition.next.filter((step) => step.edition.deref() !== undefined);
  edition.next = [{ changes, edition: new WeakRef(made) }, ...others].slice(0, maxNext);
  return made;
}

function isSame(a: Changes, b: Changes): boolean {
  if (a === b) return true;
  if (a.size !== b.size) return false;
  for (const [name, form] of a) if (b.get(name) !== form || !b.has(name)) return false;
  return true;
}

function formIn({ forms, newer }: Edition, name: string): Form | undefined {
  return (newer.size > 0 ? newer.get(name) : undefined) ?? forms.get(name);
}

/** Reads and changes like a map. */
export class Holdings {
  readonly #type: TypeUrl;
  readonly #editions: Editions;
  #edition: Edition;
  #own = new FewMap<string, Form | undefined>();
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
    return formIn(this.#edition, name);
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  set(name: string, form: Form): void {
    const own = this.#own;
    const isOwn = own.size > 0 && own.has(name);
    const shared = formIn(this.#edition, name);
    if (!isOwn && shared !== undefined) {
      if (shared !== form) this.#edition = this.#editions.afterOne(this.#type, this.#edition, name, form);
      return;
    }
    if (!isOwn || own.get(name) === undefined) this.#size += 1;
    if (shared === form) own.delete(name);
    else own.set(name, form);
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
    this.#to(this.#editions.after(this.#type, this.#edition, changes), new FewMap());
  }

  *keys(): Generator<string> {
    for (const [name] of this) yield name;
  }

  *values(): Generator<Form> {
    for (const [, form] of this) yield form;
  }

  /** As of the beginning, but for changes of single names: these may show or not. */
  *[Symbol.iterator](): Generator<[string, Form]> {
    const { forms, newer } = this.#edition;
    const own = this.#own;
    for (const entry of forms) {
      const [name, form] = entry;
      if (own.size > 0 && own.has(name)) continue;
      yield newer.size === 0 ? entry : [name, newer.get(name) ?? form];
    }
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
      this.#to(known, new FewMap());
      return;
    }
    const newest = this.#editions.newest(this.#type);
    const own = newest && this.#changesSince(newest, this.#maxOwn / 2);
    if (newest !== undefined && own !== undefined) this.#to(newest, own);
    else this.#to(this.#editions.after(this.#type, this.#edition, this.#own), new FewMap());
  }

  #to(edition: Edition, own: FewMap<string, Form | undefined>): void {
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
  #changesSince(edition: Edition, max: number): FewMap<string, Form | undefined> | undefined {
    const { forms } = edition;
    const changes = new FewMap<string, Form | undefined>();
    if (Math.abs(forms.size - this.#size) > max) return undefined;
    for (const name of forms.keys()) {
      const held = this.get(name);
      if (held !== formIn(edition, name)) changes.set(name, held);
      if (changes.size > max) return undefined;
    }
    for (const [name, form] of this) {
      if (!forms.has(name)) changes.set(name, form);
      if (changes.size > max) return undefined;
    }
    return changes;
  }
}
