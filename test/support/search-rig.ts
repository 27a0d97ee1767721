/** A refused resource without store, View and proxies: objects that it is made of, a proxy, and the search between them. */
import { createHeldObjects, pinOf } from '../../src/control/held.ts';
import { advance, type Standing } from '../../src/control/search.ts';
import type { Rejection, SearchRecord, Suspect } from '../../src/status/index.ts';

interface Contained {
  readonly uid: string;
  readonly generation: number;
}

/** What the resource is made of: each object with its generation in it. */
type Form = ReadonlyMap<string, Contained>;

const key = 'RouteConfiguration/t';

export class SearchRig {
  readonly objects = new Map<string, Standing>();
  record: SearchRecord | undefined;
  rejection: Rejection | undefined;
  /** Forms sent to the proxy, in order. */
  readonly sent: string[] = [];
  readonly #isBad: (unit: string, generation: number) => boolean;
  readonly #held = createHeldObjects();
  readonly #convicted = new Map<string, Form>();
  #revision = 1;
  #since = 0;
  #accepted: Form = new Map();
  #isBaseKnown = true;
  /** Hash and revision that the proxy knows of or refused last. */
  #known = '';

  constructor(isBad: (unit: string, generation: number) => boolean) {
    this.#isBad = isBad;
  }

  edit(...units: string[]): void {
    this.#revision += 1;
    for (const unit of units) {
      const before = this.objects.get(unit);
      this.objects.set(unit, {
        uid: before?.uid ?? `${unit}@${this.#revision}`,
        generation: (before?.generation ?? 0) + 1,
        revision: this.#revision,
      });
    }
  }

  /** The server starts anew: it does not know what the proxy has, nor that some of it was refused. */
  restart(): void {
    this.#isBaseKnown = false;
  }

  remove(unit: string): void {
    this.#revision += 1;
    this.objects.delete(unit);
  }

  /** What is served now. */
  form(): Form {
    const form = new Map<string, Contained>();
    for (const [unit, { uid, generation }] of this.objects) {
      const pin = pinOf(this.#held.of(unit));
      const isHeld = pin?.uid === uid && pin.refused === generation;
      if (!isHeld) form.set(unit, { uid, generation });
      else if (pin.good !== null) form.set(unit, { uid, generation: pin.good });
    }
    return form;
  }

  /** What the proxy has. */
  get accepted(): Form {
    return this.#accepted;
  }

  /** The server gives the proxy what is served now, if it is to be sent, and the proxy answers. */
  proxy(): void {
    const form = this.form();
    const hash = hashOf(form);
    if (hash === hashOf(this.#accepted)) {
      // It came back with that.
      if (!this.#isBaseKnown) this.#accept(form, hash);
      return;
    }
    if (this.#convicted.has(hash)) {
      this.#refuse(form, hash);
      return;
    }
    if (hash === this.#known) return;
    this.#known = hash;
    this.sent.push(hash);
    if ([...form].some(([unit, { generation }]) => this.#isBad(unit, generation))) {
      this.#convicted.set(hash, form);
      this.#refuse(form, hash);
      return;
    }
    this.#accept(form, hash);
  }

  #accept(form: Form, hash: string): void {
    this.#accepted = form;
    this.#isBaseKnown = true;
    if (this.rejection !== undefined) {
      this.rejection = { ...this.rejection, accepted: { hash, revision: this.#revision } };
    }
  }

  #refuse(form: Form, hash: string): void {
    if (this.rejection?.hash === hash && this.rejection.revision >= this.#since) return;
    const suspects = [...form].flatMap(([unit, { uid, generation }]): Suspect[] => {
      const before = this.#accepted.get(unit);
      const good = this.#isBaseKnown && before?.uid === uid ? before.generation : null;
      return good === generation ? [] : [{ unit, uid, refused: generation, good }];
    });
    this.rejection = {
      type: 'RouteConfiguration',
      name: 't',
      hash,
      revision: this.#revision,
      words: 'it is bad',
      versions: ['envoy 1.40.0'],
      nodes: ['n1'],
      nodeCount: 1,
      count: 1,
      first: '2026-01-01T00:00:00Z',
      last: '2026-01-01T00:00:00Z',
      earlier: [],
      accepted: this.rejection?.accepted ?? (this.#isBaseKnown ? { hash: hashOf(this.#accepted), revision: 0 } : null),
      isBaseKnown: this.#isBaseKnown,
      acquitted: false,
      suspects,
    };
  }

  /** The leader looks once; false when it had nothing to do. */
  leader(): boolean {
    const { record, over } = advance({
      record: this.record,
      since: this.#since,
      rejection: this.rejection,
      hash: hashOf(this.form()),
      standing: (unit) => this.objects.get(unit),
      isFrame: () => false,
      isHeldElsewhere: () => false,
    });
    if (record === this.record && !over) return false;
    this.#revision += 1;
    this.record = record;
    this.#since = record === undefined ? 0 : this.#revision;
    this.#held.prepare(new Map([[key, record]])).apply();
    if (over) this.rejection = undefined;
    return true;
  }

  /** Goes on until nothing happens any more. */
  settle(maxSteps = 10_000): void {
    for (let step = 0; step < maxSteps; step += 1) {
      this.proxy();
      if (!this.leader()) return;
    }
    throw new Error(`no end after ${maxSteps} steps`);
  }

  get guilty(): string[] {
    return (this.record?.guilty ?? []).map(({ unit }) => unit).sort();
  }
}

function hashOf(form: Form): string {
  return [...form]
    .map(([unit, { uid, generation }]) => `${unit} ${uid} ${generation}`)
    .sort()
    .join(' ');
}
