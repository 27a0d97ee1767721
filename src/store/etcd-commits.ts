import { FairwayError } from '../lib/errors.ts';
import { type EtcdConnection, isCompacted } from './etcd-connection.ts';
import type { EtcdHistory } from './etcd-history.ts';
import type { Keyspace } from './etcd-keys.ts';
import { type CallTime, callLimitMs } from './etcd-patience.ts';
import { type Answer, answerOf, requestOf, voidAnswerOf, voidRequestOf } from './etcd-transaction.ts';
import { KeyOrder } from './key-order.ts';
import type { CommitOutcome, Entry, Revision, Transaction } from './store.ts';

export interface EtcdCommitsOptions {
  readonly connection: EtcdConnection;
  readonly keyspace: Keyspace;
  /** Another one after history was lost. */
  readonly history: () => EtcdHistory;
  /** Until the watch has told of `revision`, or the time is over. */
  readonly caughtUp: (revision: Revision, over: AbortSignal) => Promise<void>;
  readonly notice: (notice: { event: 'outcome_unknown' | 'outcome_settled'; id: string }) => void;
}

/** What is known of a transaction on its way. */
interface Sent {
  /** It may be committed although its call has failed. */
  unknown: boolean;
  staleId: Revision;
}

/**
 * The transactions of one store on their way to etcd and back, however often each has to be sent. One per store.
 *
 * ```
 *   asked ──▶ wait for those before it ──▶ sent, and sent again ──▶ committed, or refused
 *                                              └── no answer in time: StoreUnavailable, then settled in its place
 * ```
 */
export class EtcdCommits {
  readonly #options: EtcdCommitsOptions;
  readonly #order = new KeyOrder();
  readonly #underWay = new Set<Promise<unknown>>();
  #acknowledged: Revision = 0;
  #closing = false;

  constructor(options: EtcdCommitsOptions) {
    this.#options = options;
  }

  /** The newest commit that was acknowledged here; the watch may tell of it a little later. */
  get acknowledged(): Revision {
    return this.#acknowledged;
  }

  /** Resolves when no transaction is under way; what is not settled by then is left. */
  async close(): Promise<void> {
    this.#closing = true;
    await Promise.allSettled([...this.#underWay]);
  }

  /**
   * In the order in which transactions that meet at a key were asked for. One whose outcome is not known keeps its
   * place until it is: what is written later is never overtaken by it.
   */
  commit(transaction: Transaction): Promise<CommitOutcome> {
    const { promise, resolve, reject } = Promise.withResolvers<CommitOutcome>();
    const { id, checks, puts, deletes } = transaction;
    const writes = [...puts.map(({ key }) => `data/${key}`), ...deletes.map((key) => `data/${key}`), `id/${id}`];
    const time = this.#options.connection.patience();
    const late = (): void => {
      reject(new FairwayError('StoreUnavailable', 'committing a transaction: an earlier one of the same key hangs'));
    };
    time.over.addEventListener('abort', late);
    const call = this.#order.run({ reads: checks.map(({ key }) => `data/${key}`), writes }, async () => {
      time.over.removeEventListener('abort', late);
      if (time.over.aborted) return;
      const sent: Sent = { unknown: false, staleId: 0 };
      try {
        resolve(await this.#commit(transaction, time, sent).finally(() => time.end()));
      } catch (error) {
        reject(error);
        if (sent.unknown) await this.#settle(id, sent.staleId);
      }
    });
    this.#underWay.add(call);
    void call.then(() => this.#underWay.delete(call));
    return promise;
  }

  async #commit(transaction: Transaction, time: CallTime, sent: Sent): Promise<CommitOutcome> {
    for (;;) {
      let attempts = 0;
      const answer = await this.#send(transaction, sent.staleId, time, () => {
        attempts += 1;
        sent.unknown = true;
      });
      if (answer.kind === 'committed') return this.#committed(answer.revision);
      if (answer.kind === 'idTaken') {
        // The floor counts with all that was acknowledged.
        await this.#options.caughtUp(this.#acknowledged, time.over);
        if (answer.committed && answer.revision > this.#options.history().floor)
          return this.#committed(answer.revision);
        sent.staleId = answer.revision;
        continue;
      }
      if (attempts > 1) {
        // An attempt before this one may be on its way still, and find that the checks hold when it arrives.
        const settled = await this.#makeVoid(transaction.id, sent.staleId, time);
        if (settled !== 'void' && settled.kind === 'idTaken' && settled.committed)
          return this.#committed(settled.revision);
      }
      sent.unknown = false;
      return { committed: false, failed: await this.#standing(answer, time) };
    }
  }

  async #send(transaction: Transaction, staleId: Revision, time: CallTime, onAttempt: () => void): Promise<Answer> {
    const oldIds = this.#options.history().takeOldIds(transaction.id);
    const request = requestOf(transaction, { keyspace: this.#options.keyspace, staleId }, oldIds);
    let answer: Answer | undefined;
    try {
      const response = await this.#options.connection.call(
        'committing a transaction',
        (endpoint, limits) => {
          onAttempt();
          return endpoint.kv.txn(request, limits);
        },
        time,
      );
      answer = answerOf(transaction, staleId, response);
      return answer;
    } finally {
      if (answer?.kind !== 'committed') this.#options.history().give(oldIds);
    }
  }

  async #makeVoid(id: string, staleId: Revision, time: CallTime | number): Promise<'void' | Answer> {
    const request = voidRequestOf(id, { keyspace: this.#options.keyspace, staleId });
    const response = await this.#options.connection.call(
      'settling a transaction',
      (endpoint, limits) => endpoint.kv.txn(request, limits),
      time,
    );
    return voidAnswerOf(staleId, response);
  }

  /** Until it is known what became of it, or the store is closed: then nobody here writes after it. */
  async #settle(id: string, staleId: Revision): Promise<void> {
    this.#options.notice({ event: 'outcome_unknown', id });
    while (!this.#closing) {
      try {
        await this.#makeVoid(id, staleId, callLimitMs);
        this.#options.notice({ event: 'outcome_settled', id });
        return;
      } catch (error) {
        if (!(error instanceof FairwayError)) throw error;
      }
    }
  }

  #committed(revision: Revision): CommitOutcome {
    this.#acknowledged = Math.max(this.#acknowledged, revision);
    return { committed: true, revision };
  }

  /** What stands at the keys whose checks did not hold; as of the refusal, unless that is compacted already. */
  async #standing({ failed, revision }: Extract<Answer, { kind: 'refused' }>, time: CallTime) {
    const read = async (key: string, at: string | undefined): Promise<Entry | undefined> => {
      const { kvs } = await this.#options.connection.call(
        'committing a transaction',
        (endpoint, limits) =>
          endpoint.kv.range(
            {
              key: this.#options.keyspace.data(key),
              ...(at === undefined ? {} : { revision: at, serializable: false }),
            },
            limits,
          ),
        time,
      );
      return kvs[0] && this.#options.keyspace.entry(kvs[0]);
    };
    return Promise.all(
      failed.map(async (key) => ({
        key,
        entry: await read(key, String(revision)).catch((error: unknown) => {
          if (!isCompacted(error)) throw error;
          return read(key, undefined);
        }),
      })),
    );
  }
}
