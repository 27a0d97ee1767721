import { promises as dns } from 'node:dns';
import { afterEach, expect, test, vi } from 'vitest';
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
