/**
 * What the SQLite store and its worker thread say to each other. Everything here is structured-clonable.
 *
 * The main thread sends requests one by one; the worker answers in batches, and answers of commits stand in the order
 * of their revisions and before the answers of reads that saw them.
 */
import type { ErrorCode } from '../lib/errors.ts';
import type { LogBounds } from './log.ts';
import type { CommitOutcome, Entry, Revision, Transaction, WatchEvent } from './store.ts';

/** Given to the worker when it starts. */
export interface WorkerOptions {
  readonly folder: string;
  readonly retain: LogBounds;
  readonly maxSizeBytes: number | undefined;
}

/**
 * A failure as data: an error object loses its class on the way between threads. `Internal` means that the data itself
 * is wrong; the worker stops then.
 */
export interface Fault {
  readonly code: ErrorCode;
  readonly message: string;
}

export type RequestBody =
  | { readonly kind: 'commit'; readonly transaction: Transaction }
  | { readonly kind: 'get'; readonly key: string }
  | { readonly kind: 'list'; readonly prefix: string }
  /** The next page of the list that was asked for with request `list`. */
  | { readonly kind: 'nextPage'; readonly list: number }
  | { readonly kind: 'changes'; readonly after: Revision }
  | { readonly kind: 'compact'; readonly depth: 'log' | 'disk' }
  | { readonly kind: 'close' };

export type Request = { readonly id: number } & RequestBody;

/**
 * `written` leaves out what the main thread knows from its own transaction: of each put only the create revision is
 * told, in the order of the puts, and of the deletes only those that found their key.
 */
export type CommitResult =
  | {
      readonly kind: 'written';
      readonly revision: Revision;
      readonly createRevisions: readonly Revision[];
      readonly deletes: readonly string[];
    }
  | { readonly kind: 'replayed'; readonly revision: Revision }
  | { readonly kind: 'refused'; readonly failed: Extract<CommitOutcome, { committed: false }>['failed'] }
  | { readonly kind: 'failed'; readonly fault: Fault };

/** `compacted`: the log begins after `floor`, and that is above the revision asked for. */
export type ChangesResult =
  | { readonly kind: 'changes'; readonly events: readonly WatchEvent[] }
  | { readonly kind: 'compacted'; readonly floor: Revision };

export type AnswerBody =
  | CommitResult
  | ChangesResult
  | { readonly kind: 'entry'; readonly entry: Entry | undefined }
  | { readonly kind: 'page'; readonly revision: Revision; readonly entries: readonly Entry[]; readonly more: boolean }
  | { readonly kind: 'forgotten' }
  | { readonly kind: 'closed' };

export type Answer = { readonly id: number } & AnswerBody;

/** First `opened` or `notOpened`, then `answers`; `damaged` is the last word of a worker that must not go on. */
export type WorkerMessage =
  | { readonly kind: 'opened'; readonly head: Revision }
  | { readonly kind: 'notOpened'; readonly fault: Fault }
  | { readonly kind: 'answers'; readonly answers: readonly Answer[] }
  | { readonly kind: 'damaged'; readonly fault: Fault };
