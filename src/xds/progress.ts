/**
 * What comes back from the streams. Structured-clonable, so that it can cross a thread; `at` is in milliseconds since
 * 1970. Acknowledgements are coalesced: one event for a stream and turn, however many answers came in.
 */
import type { NodeInfo } from './node-info.ts';
import type { Need, Part, TypeUrl } from './resource.ts';

interface OfStream {
  readonly streamId: string;
  readonly nodeId: string;
  readonly at: number;
}

export type Progress =
  | (OfStream & {
      readonly kind: 'opened';
      readonly node: NodeInfo;
      readonly peer: string;
      /** Revision of the table when the stream opened. */
      readonly revision: number;
    })
  | (OfStream & { readonly kind: 'closed' })
  | (OfStream & {
      readonly kind: 'acked';
      /** Everything up to this revision that concerns the stream is acknowledged, or refused for good. */
      readonly revision: number;
      /** When the last response was sent that this answers. */
      readonly sentAt: number;
    })
  | (OfStream & { readonly kind: 'filled'; readonly revision: number })
  | (OfStream & Rejection)
  | (Blame & {
      /** The table has a form again that was convicted before; it is sent to no client of the version. */
      readonly kind: 'withheld';
      readonly at: number;
    })
  | {
      /** Of a name in doubt: the first client of a version accepted what is new. */
      readonly kind: 'proven';
      readonly type: TypeUrl;
      readonly name: string;
      readonly hash: string;
      /** What the client runs. */
      readonly version: string;
      /** Of the table that held it. */
      readonly revision: number;
      /** The form itself had been convicted; it is served again. */
      readonly acquitted: boolean;
      readonly at: number;
    }
  | (OfStream & {
      /** The client asked by name for a secret that is in the table but not for it; it was answered that there is none. */
      readonly kind: 'foreign';
      readonly type: TypeUrl;
      readonly name: string;
      /** The client's own. */
      readonly cluster: string;
    })
  | (OfStream & {
      readonly kind: 'stalled';
      /** `needs`: something was sent although what it needs never got ready; `answer`: a response has no answer. */
      readonly reason: 'needs' | 'answer';
      readonly type: TypeUrl;
      /** At most {@link maxStalledNames}. */
      readonly names: readonly string[];
      readonly missing: Need | undefined;
    });

/** A refused form, and what to lay it at. */
export interface Blame {
  readonly type: TypeUrl;
  readonly name: string;
  readonly hash: string;
  /** What the client runs. */
  readonly version: string;
  /** Of the table that held the form. */
  readonly revision: number;
  /** The client's words, normalised and of bounded length. */
  readonly words: string;
  /** The parts that changed since the form that a client of the version last accepted; all when there is none. */
  readonly parts: readonly Part[];
  /** The form accepted last, as of a revision of the table, and those of its parts that are of the same units. */
  readonly good: { readonly hash: string; readonly revision: number; readonly parts: readonly Part[] } | undefined;
}

export interface Rejection extends Blame {
  readonly kind: 'rejected';
  /**
   * `convicted`: withheld from every client of the version; `local`: others of the version accepted the same bytes;
   * `host`: a fault of the client's host, tried again by and by.
   */
  readonly scope: 'convicted' | 'local' | 'host';
}

/** The last thing that was late on a stream, while nothing has been at rest since. */
export interface Stall {
  readonly reason: 'needs' | 'answer';
  readonly type: TypeUrl;
  readonly names: readonly string[];
  /** Of `needs`: what was not ready. */
  readonly missing: Need | undefined;
  /** In milliseconds since 1970. */
  readonly at: number;
}

export const maxStalledNames = 10;
