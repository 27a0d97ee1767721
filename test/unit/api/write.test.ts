import { describe, expect, it } from 'vitest';
import { assemble, atRevision, heldOf, type Intent, type Plan, planIntent } from '../../../src/api/write.ts';
import { FairwayError } from '../../../src/lib/errors.ts';
import { err, ok } from '../../../src/lib/result.ts';
import {
  type DraftObject,
  decodeStoredWithExtras,
  type FairwayObject,
  historyKey,
  objectKey,
} from '../../../src/model/index.ts';
import { type Entry, storeLimits } from '../../../src/store/store.ts';

const key = 'BackendPool/default/web';
const context = { now: Date.UTC(2030, 0, 1), newId: () => 'uid' };

function draft(spec: object = {}, labels: Record<string, string> = {}, name = 'web'): DraftObject {
  return {
    apiVersion: 'fairway/v1',
    kind: 'BackendPool',
    metadata: { name, scope: 'default', labels, annotations: {} },
    spec,
  };
}

function stored(spec: object, generation: number, history: readonly number[] = [], name = 'web'): Entry {
  const metadata = { ...draft().metadata, name, uid: 'first', generation, createdAt: '2029-01-01T00:00:00.000Z' };
  const value = JSON.stringify({ apiVersion: 'fairway/v1', kind: 'BackendPool', metadata, spec, history });
  return { key: `spec/BackendPool/default/${name}`, value, createRevision: 3, modRevision: 7 };
}

const put = (object: DraftObject): Intent => ({
  action: 'put',
  key: objectKey(object.kind, object.metadata.scope, object.metadata.name),
  precondition: { kind: 'none' },
  draft: () => ok(object),
});
const remove: Intent = { action: 'delete', key, precondition: { kind: 'none' } };

function plan(intent: Intent, entry?: Entry): Plan {
  const planned = planIntent(intent, heldOf(entry), context);
  if (!planned.ok) throw planned.error;
  return planned.value;
}

const assembling = { id: 't', keepGenerations: 3, pinnedGeneration: () => undefined };

describe('a plan', () => {
  it('creates generation 1 with an id and the time', () => {
    const { outcome, after } = plan(put(draft({ algorithm: 'random' })));
    expect(outcome).toBe('created');
    expect(after?.metadata).toMatchObject({
      uid: 'uid',
      generation: 1,
      createdAt: '2030-01-01T00:00:00.000Z',
      revision: '',
    });
  });

  it.each([
    ['spec', draft({ algorithm: 'random' }), 'updated', 3, true],
    ['labels', draft({ algorithm: 'maglev', protocol: 'auto' }, { a: 'b' }), 'updated', 2, false],
    ['the order of fields', draft({ protocol: 'auto', algorithm: 'maglev' }), 'unchanged', 2, false],
  ])('counts a generation when spec changes only: %s', (_what, object, outcome, generation, archives) => {
    const entry = stored({ algorithm: 'maglev', protocol: 'auto' }, 2);
    const planned = plan(put(object), entry);
    expect(planned).toMatchObject({
      outcome,
      archives,
      after: { metadata: { generation, uid: 'first', createdRevision: '3' } },
    });
  });

  it('keeps the text of a spec that says the same', () => {
    const planned = plan(
      put(draft({ protocol: 'auto', algorithm: 'maglev' }, { a: 'b' })),
      stored({ algorithm: 'maglev', protocol: 'auto' }, 2),
    );
    expect(Object.keys(planned.after?.spec ?? {})).toEqual(['algorithm', 'protocol']);
  });

  it('takes a refusal of the draft as it is', () => {
    const error = new FairwayError('InvalidObject', 'no');
    const intent: Intent = { ...put(draft()), action: 'put', draft: () => err(error) };
    expect(planIntent(intent, heldOf(undefined), context)).toEqual({ ok: false, error });
  });

  it('of a deletion needs an object, unless it may be gone', () => {
    expect(planIntent(remove, heldOf(undefined), context)).toMatchObject({ ok: false, error: { code: 'NotFound' } });
    expect(plan({ ...remove, orGone: true })).toMatchObject({ outcome: 'unchanged' });
    expect(plan(remove, stored({}, 1))).toMatchObject({ outcome: 'deleted', before: { metadata: { generation: 1 } } });
  });
});

describe('an assembly', () => {
  it('of nothing but what is unchanged is no commit at all', () => {
    expect(assemble([plan(put(draft({})), stored({}, 1))], assembling)).toEqual({
      transaction: undefined,
      leftovers: [],
    });
  });

  it('checks what was read, and that the scope of a new object is there', () => {
    const { transaction } = assemble([plan(put(draft()))], assembling);
    expect(transaction).toMatchObject({
      id: 't',
      checks: [
        { key: 'spec/BackendPool/default/web', modRevision: 0 },
        { key: 'spec/Scope/default', modRevision: 'exists' },
      ],
      deletes: [],
    });
    expect(
      assemble([plan(put(draft({ algorithm: 'random' })), stored({}, 1))], assembling).transaction?.checks,
    ).toEqual([{ key: 'spec/BackendPool/default/web', modRevision: 7 }]);
  });

  it('moves the former text to history, and takes the oldest away but for the pinned one', () => {
    const entry = stored({}, 9, [2, 6, 7, 8]);
    const change = plan(put(draft({ algorithm: 'random' })), entry);
    const { transaction } = assemble([change], { ...assembling, pinnedGeneration: () => 2 });
    expect(transaction?.deletes).toEqual([historyKey(key, 6)]);
    expect(transaction?.puts[1]).toEqual({ key: historyKey(key, 9), value: entry.value });
    const written = { value: transaction?.puts[0]?.value ?? '', createRevision: 3, modRevision: 8 };
    expect(decodeStoredWithExtras(written)).toMatchObject({
      object: { metadata: { generation: 10, revision: '8', createdRevision: '3' } },
      extras: { history: [2, 7, 8, 9] },
    });
  });

  it('deletes an object with its history', () => {
    const { transaction, leftovers } = assemble([plan(remove, stored({}, 4, [1, 2, 3]))], assembling);
    expect(transaction?.deletes).toEqual(
      [1, 2, 3].map((generation) => historyKey(key, generation)).concat('spec/BackendPool/default/web'),
    );
    expect([transaction?.puts, leftovers]).toEqual([[], []]);
  });

  it('stays within the operations of one commit: what has no room is noted, or left to be swept', () => {
    const history = [1, 2, 3, 4, 5, 6, 7, 8, 9];
    const name = (i: number) => `p${i}`;
    const updates = Array.from({ length: 50 }, (_, i) =>
      plan(put(draft({ algorithm: 'random' }, {}, name(i))), stored({}, 10, history, name(i))),
    );
    const { transaction } = assemble(updates, assembling);
    expect((transaction?.puts.length ?? 0) + (transaction?.deletes.length ?? 0)).toBe(storeLimits.operations - 1);
    const kept = transaction?.puts
      .filter(({ key: written }) => written.startsWith('spec/'))
      .flatMap(({ value }) => JSON.parse(value).history as number[]).length;
    // The writer puts the record for the audit beside them.
    expect(kept).toBe(50 * 10 - (storeLimits.operations - 1 - 2 * 50));
    const deletions = Array.from({ length: 50 }, (_, i) =>
      plan({ ...remove, key: `BackendPool/default/${name(i)}` }, stored({}, 10, history, name(i))),
    );
    const deleted = assemble(deletions, assembling);
    expect(deleted.transaction?.deletes).toHaveLength(storeLimits.operations - 1);
    expect(new Set([...(deleted.transaction?.deletes ?? []), ...deleted.leftovers]).size).toBe(50 * 10);
  });
});

describe('the revision of a commit', () => {
  it('becomes that of what it wrote, and the creation of what is new', () => {
    const created = plan(put(draft())).after as FairwayObject;
    expect(atRevision(created, 12).metadata).toMatchObject({ revision: '12', createdRevision: '12' });
    const updated = plan(put(draft({ algorithm: 'random' })), stored({}, 1)).after as FairwayObject;
    expect(atRevision(updated, 12).metadata).toMatchObject({ revision: '12', createdRevision: '3' });
    const unchanged = plan(put(draft()), stored({}, 1)).after as FairwayObject;
    expect(atRevision(unchanged, 12).metadata).toMatchObject({ revision: '7', createdRevision: '3' });
  });
});
