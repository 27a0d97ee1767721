import { promises as dns } from 'node:dns';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { EtcdConnection } from '../../../src/store/etcd-connection.ts';

afterEach(() => vi.restoreAllMocks());

test('a name that is looked up for long is looked up once, however many calls need it', async () => {
  const lookup = vi.spyOn(dns, 'lookup').mockImplementation(() => new Promise(() => undefined));
  const connection = new EtcdConnection({ endpoints: ['http://etcd-1.test:2379'] });
  const read = () =>
    connection.call('reading', (endpoint, limits) => endpoint.kv.range({ key: Buffer.from('k') }, limits), 50);
  for (let n = 0; n < 5; n += 1) await expect(read()).rejects.toMatchObject({ code: 'StoreUnavailable' });
  expect(lookup).toHaveBeenCalledTimes(1);
  connection.close();
});

describe('a member that does not answer', () => {
  let connection: EtcdConnection;

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] });
    connection = new EtcdConnection({ endpoints: ['http://127.0.0.1:1', 'http://127.0.0.1:2'] });
  });

  afterEach(() => {
    connection.close();
    vi.useRealTimers();
  });

  const answered = (doing: string) => connection.call(doing, async () => undefined);

  /** Asks in vain; counts the attempts that were made. */
  function askInVain(doing: string): { readonly count: number } {
    const attempts = { count: 0 };
    const call = connection.call(doing, () => {
      attempts.count += 1;
      return new Promise<never>(() => undefined);
    });
    call.catch(() => undefined);
    return attempts;
  }

  test('is not waited for when it answers nobody', async () => {
    const attempts = askInVain('writing');
    await vi.advanceTimersByTimeAsync(390);
    expect(attempts.count).toBe(1);
    await vi.advanceTimersByTimeAsync(20);
    expect(attempts.count).toBe(2);
  });

  test('is waited for when it answers others: it is busy', async () => {
    const attempts = askInVain('writing');
    for (let ms = 0; ms < 900; ms += 100) {
      await answered('reading');
      await vi.advanceTimersByTimeAsync(100);
    }
    expect(attempts.count).toBe(1);
    await vi.advanceTimersByTimeAsync(110);
    expect(attempts.count).toBe(2);
  });

  test('is not waited for when it has answered what was asked later: the call is lost', async () => {
    const attempts = askInVain('writing');
    await vi.advanceTimersByTimeAsync(300);
    await answered('writing');
    await vi.advanceTimersByTimeAsync(110);
    expect(attempts.count).toBe(2);
  });

  test('is waited for when what it answered is hardly younger: calls overtake each other a little', async () => {
    const attempts = askInVain('writing');
    await vi.advanceTimersByTimeAsync(50);
    const slow = connection.call('writing', () => new Promise((resolve) => setTimeout(resolve, 300)));
    await vi.advanceTimersByTimeAsync(400);
    await slow;
    expect(attempts.count).toBe(1);
  });
});
