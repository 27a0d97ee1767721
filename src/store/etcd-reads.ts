import type { IKeyValue, IRangeResponse } from 'etcd3';
import { type EtcdConnection, isCompacted } from './etcd-connection.ts';
import { type KeyRange, type Keyspace, revisionOf } from './etcd-keys.ts';
import type { Entry, Revision, Snapshot } from './store.ts';

/** A page of a list: what a member reads and sends in a few milliseconds when values are small. */
const pageItems = 500;

/** The cluster at one revision, as far as a store has to know it before it watches. */
export interface Start {
  /** Revision of the newest commit; 0: none. */
  readonly head: Revision;
  /** etcd's own revision at which this was read: the watch begins after it. */
  readonly at: Revision;
  /** Oldest first. */
  readonly ids: readonly { readonly id: string; readonly revision: Revision }[];
}

/** What a store asks etcd for: each answer sees all that was acknowledged anywhere before. One per store. */
export class EtcdReads {
  readonly #connection: EtcdConnection;
  readonly #keyspace: Keyspace;

  constructor(connection: EtcdConnection, keyspace: Keyspace) {
    this.#connection = connection;
    this.#keyspace = keyspace;
  }

  async get(key: string): Promise<Entry | undefined> {
    const { kvs } = await this.#range('reading an entry', { key: this.#keyspace.data(key) });
    return kvs[0] && this.#keyspace.entry(kvs[0]);
  }

  async head(): Promise<Revision> {
    const { kvs } = await this.#range('reading the revision', { key: this.#keyspace.head });
    return revisionOf(kvs[0]?.mod_revision ?? '0');
  }

  async list(prefix: string): Promise<Snapshot> {
    for (;;) {
      try {
        return await this.#listOnce(prefix);
      } catch (error) {
        // Compacted between two pages: begin again at the present.
        if (!isCompacted(error)) throw error;
      }
    }
  }

  async start(limitMs: number): Promise<Start> {
    const { responses, header } = await this.#connection.call(
      'opening the store',
      (endpoint, limits) =>
        endpoint.kv.txn(
          {
            success: [
              { request_range: { key: this.#keyspace.head } },
              { request_range: { ...this.#keyspace.ids, keys_only: true, sort_target: 'Mod', sort_order: 'Ascend' } },
            ],
          },
          limits,
        ),
      limitMs,
    );
    const [head, ids] = responses.map(({ response_range }) => response_range.kvs);
    return {
      head: revisionOf(head?.[0]?.mod_revision ?? '0'),
      at: revisionOf(header.revision),
      ids: (ids ?? []).flatMap((kv) => {
        const place = this.#keyspace.place(kv.key);
        return place.kind === 'id' ? [{ id: place.id, revision: revisionOf(kv.mod_revision) }] : [];
      }),
    };
  }

  async #listOnce(prefix: string): Promise<Snapshot> {
    const range = this.#keyspace.dataRange(prefix);
    const { responses, header } = await this.#connection.call('listing', (endpoint, limits) =>
      endpoint.kv.txn(
        {
          success: [{ request_range: { key: this.#keyspace.head } }, { request_range: { ...range, limit: pageItems } }],
        },
        limits,
      ),
    );
    const [head, first] = responses.map(({ response_range }) => response_range);
    const revision = revisionOf(head?.kvs[0]?.mod_revision ?? '0');
    const entries: Entry[] = [];
    for (let page = first; page !== undefined; ) {
      for (const kv of page.kvs) entries.push(this.#keyspace.entry(kv));
      page = page.more ? await this.#nextPage(range, page.kvs.at(-1) as IKeyValue, header.revision) : undefined;
    }
    return { revision, entries };
  }

  #nextPage({ range_end }: KeyRange, last: IKeyValue, revision: string): Promise<IRangeResponse> {
    return this.#range('listing', {
      key: Buffer.concat([last.key, Buffer.of(0)]),
      range_end,
      revision,
      limit: pageItems,
    });
  }

  #range(doing: string, request: RangeRequest): Promise<IRangeResponse> {
    return this.#connection.call(doing, (endpoint, limits) => endpoint.kv.range(request, limits));
  }
}

interface RangeRequest {
  readonly key: Buffer;
  readonly range_end?: Buffer;
  readonly revision?: string;
  readonly limit?: number;
}
