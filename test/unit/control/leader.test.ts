import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createLeader, fencedStore, type LeaderWork } from '../../../src/control/index.ts';
import { createMemoryStore, type Leadership, leaderKey, type Store } from '../../../src/store/index.ts';
import { createLogger } from '../../../src/telemetry/log.ts';

const log = createLogger({ level: 'silent' });

/** A store with an election that is decided by the test. */
function rig() {
  const store = createMemoryStore();
  const waiting: ((leadership: Leadership) => void)[] = [];
  const resigned: number[] = [];
  const election = {
    campaign: (_: string, signal: AbortSignal) =>
      new Promise<Leadership>((resolve, reject) => {
        waiting.push(resolve);
        signal.addEventListener('abort', () => reject(signal.reason));
      }),
  };
  const term = (number: number) => {
    const lost = new AbortController();
    const leadership: Leadership = {
      term: number,
      fence: [{ key: leaderKey, modRevision: number }],
      lost: lost.signal,
      resign: async () => {
        resigned.push(number);
        lost.abort();
      },
    };
    return { leadership, lose: () => lost.abort() };
  };
  const candidates = async () => vi.waitFor(() => expect(waiting).not.toEqual([]));
  const elect = async (leadership: Leadership): Promise<void> => {
    await candidates();
    waiting.shift()?.(leadership);
  };
  return { store: { ...bound(store), election } satisfies Store, term, elect, candidates, resigned };
}

function bound(store: Store): Store {
  const { commit, get, list, head, watch, close } = store;
  const methods = { commit, get, list, head, watch, close };
  for (const [name, method] of Object.entries(methods)) Object.assign(methods, { [name]: method.bind(store) });
  return methods;
}

/** A leader whose work says when it begins and ends. */
function leaderOn(store: Store) {
  const happened: string[] = [];
  const leader = createLeader<LeaderWork & { readonly store: Store }>({
    store,
    candidate: 'me',
    begin(fenced, term) {
      happened.push(`begin ${term}`);
      return { store: fenced, close: async () => void happened.push(`end ${term}`) };
    },
    onChange: () => undefined,
    now: () => 1000,
    log,
  });
  onTestFinished(() => leader.close());
  return { leader, happened };
}

const write = (value: string) => ({ id: value, checks: [], puts: [{ key: 'plan/a', value }], deletes: [] });

describe('a leader', () => {
  test('of an embedded store leads from the start, and needs no fence', async () => {
    const store = createMemoryStore();
    const { leader, happened } = leaderOn(store);
    expect(leader.current).toMatchObject({ term: 1, since: 1000 });
    expect(await leader.current?.work.store.commit(write('1'))).toMatchObject({ committed: true });
    await leader.close();
    expect(happened).toEqual(['begin 1', 'end 1']);
    expect(leader.current).toBeUndefined();
  });

  test('works while it leads, and runs again when it has lost', async () => {
    const { store, term, elect, candidates } = rig();
    const { leader, happened } = leaderOn(store);
    expect(leader.current).toBeUndefined();
    const first = term(7);
    await elect(first.leadership);
    await vi.waitFor(() => expect(leader.current?.term).toBe(7));
    first.lose();
    await candidates();
    expect(leader.current).toBeUndefined();
    await elect(term(9).leadership);
    await vi.waitFor(() => expect(happened).toEqual(['begin 7', 'end 7', 'begin 9']));
  });

  test('gives its place away when it is closed', async () => {
    const { store, term, elect, resigned } = rig();
    const { leader, happened } = leaderOn(store);
    await elect(term(7).leadership);
    await vi.waitFor(() => expect(leader.current?.term).toBe(7));
    await leader.close();
    expect(happened).toEqual(['begin 7', 'end 7']);
    expect(resigned).toEqual([7]);
  });

  test('that was never elected can be closed', async () => {
    const { store, candidates } = rig();
    const { leader, happened } = leaderOn(store);
    await candidates();
    await leader.close();
    expect(happened).toEqual([]);
  });
});

describe('the fence', () => {
  test('lets a write through while the term lasts, and ends the term with the first that it refuses', async () => {
    const { store, term, resigned } = rig();
    await store.commit({ ...write('leader'), puts: [{ key: leaderKey, value: 'me' }] });
    const { leadership } = term(1);
    const fenced = fencedStore(store, leadership);
    expect(await fenced.commit(write('2'))).toMatchObject({ committed: true });
    await store.commit({ ...write('gone'), puts: [], deletes: [leaderKey] });
    await expect(fenced.commit(write('3'))).rejects.toMatchObject({ code: 'StoreUnavailable' });
    expect(resigned).toEqual([1]);
    expect(await store.get('plan/a')).toMatchObject({ value: '2' });
    const before = await store.head();
    await expect(fenced.commit(write('4'))).rejects.toThrow('another controller may lead now');
    expect(await store.head()).toBe(before);
  });

  test('tells apart what it refuses from what another check does', async () => {
    const { store, term, resigned } = rig();
    await store.commit({ ...write('leader'), puts: [{ key: leaderKey, value: 'me' }] });
    const fenced = fencedStore(store, term(1).leadership);
    const outcome = await fenced.commit({ ...write('2'), checks: [{ key: 'absent', modRevision: 'exists' }] });
    expect(outcome).toEqual({ committed: false, failed: [{ key: 'absent', entry: undefined }] });
    expect(resigned).toEqual([]);
  });
});
