/**
 * The thread of the SQLite store. It takes all requests that have arrived, commits all transactions among them in
 * one go, answers, and only then reads for the rest: so a read sees every commit that was asked for before it.
 */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { FairwayError, InvariantError } from '../lib/errors.ts';
import { SqliteDatabase } from './sqlite-database.ts';
import type { Answer, AnswerBody, Fault, Request, WorkerMessage, WorkerOptions } from './sqlite-protocol.ts';
import type { Entry, Revision } from './store.ts';

type CommitRequest = Extract<Request, { kind: 'commit' }>;

/** What is left of a list whose first page was sent. */
interface OpenList {
  readonly revision: Revision;
  readonly pages: Entry[][];
}

class Worker {
  readonly #port: MessagePort;
  readonly #database: SqliteDatabase;
  readonly #lists = new Map<number, OpenList>();
  #waiting: Request[] = [];

  constructor(port: MessagePort, database: SqliteDatabase) {
    this.#port = port;
    this.#database = database;
  }

  receive(request: Request): void {
    // All messages that have arrived are handed over in one turn of the event loop; the immediate comes after them.
    if (this.#waiting.length === 0) setImmediate(() => this.#serve());
    this.#waiting.push(request);
  }

  #serve(): void {
    const requests = this.#waiting;
    this.#waiting = [];
    const commits = requests.filter((request) => request.kind === 'commit');
    const reads = requests.filter((request) => request.kind !== 'commit');
    if (commits.length > 0) this.#reply(this.#commit(commits));
    for (const request of reads) this.#reply([{ id: request.id, ...this.#read(request) }]);
    // Nothing comes after `close`; without its port the thread ends.
    if (requests.at(-1)?.kind === 'close') this.#port.close();
  }

  #commit(requests: readonly CommitRequest[]): Answer[] {
    const results = this.#database.commit(requests.map(({ transaction }) => transaction));
    return results.map((result, i) => ({ id: (requests[i] as CommitRequest).id, ...result }));
  }

  #read(request: Exclude<Request, CommitRequest>): AnswerBody {
    try {
      switch (request.kind) {
        case 'get':
          return { kind: 'entry', entry: this.#database.get(request.key) };
        case 'list':
          return this.#nextPage(request.id, {
            revision: this.#database.head,
            pages: this.#database.list(request.prefix),
          });
        case 'nextPage': {
          const list = this.#lists.get(request.list);
          if (list === undefined) throw new InvariantError(`listing: there is no list ${request.list} to go on with`);
          return this.#nextPage(request.list, list);
        }
        case 'changes':
          return this.#database.changes(request.after);
        case 'compact':
          this.#database.compact(request.depth);
          return { kind: 'forgotten' };
        case 'close':
          this.#database.close();
          return { kind: 'closed' };
      }
    } catch (error) {
      if (!(error instanceof FairwayError)) throw error;
      return { kind: 'failed', fault: faultOf(error) };
    }
  }

  #nextPage(id: number, list: OpenList): AnswerBody {
    const entries = list.pages.shift() ?? [];
    const more = list.pages.length > 0;
    if (more) this.#lists.set(id, list);
    else this.#lists.delete(id);
    return { kind: 'page', revision: list.revision, entries, more };
  }

  #reply(answers: readonly Answer[]): void {
    send(this.#port, { kind: 'answers', answers });
    const damage = answers.find((answer) => answer.kind === 'failed' && answer.fault.code === 'Internal');
    if (damage?.kind === 'failed') {
      send(this.#port, { kind: 'damaged', fault: damage.fault });
      this.#port.close();
    }
  }
}

function send(port: MessagePort, message: WorkerMessage): void {
  port.postMessage(message);
}

function faultOf({ code, message }: FairwayError): Fault {
  return { code, message };
}

function start(port: MessagePort): void {
  try {
    const database = new SqliteDatabase(workerData as WorkerOptions);
    const worker = new Worker(port, database);
    port.on('message', (request: Request) => worker.receive(request));
    send(port, { kind: 'opened', head: database.head });
  } catch (error) {
    if (!(error instanceof FairwayError)) throw error;
    send(port, { kind: 'notOpened', fault: faultOf(error) });
  }
}

if (parentPort === null) throw new InvariantError('sqlite-worker was not started as a worker thread');
start(parentPort);
