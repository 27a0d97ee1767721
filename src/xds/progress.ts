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
  | {
      /** A client accepted what had been convicted: it is served again. */
      readonly kind: 'acquitted';
      readonly type: TypeUrl;
      readonly name: string;
      readonly hash: string;
      readonly at: number;
    }
  | (OfStream & {
      readonly kind: 'stalled';
      /** `needs`: something was sent although what it needs never got ready; `answer`: a response has no answer. */
      readonly reason: 'needs' | 'answer';
      readonly type: TypeUrl;
      /** At most {@link maxStalledNames}. */
      readonly names: readonly string[];
      readonly missing: Need | undefined;
    });

export interface Rejection {
  readonly kind: 'rejected';
  readonly type: TypeUrl;
  readonly name: string;
  readonly hash: string;
  /** The client's words, normalised and of bounded length. */
  readonly words: string;
  /** The parts that changed since the form that a client last accepted; all of them when there is none. */
  readonly parts: readonly Part[];
  /** The parts of the last accepted form that are of the same units: what was good of them. */
  readonly good: readonly Part[];
  /**
   * `convicted`: withheld from every stream that does not hold it; `local`: other clients accepted the same bytes;
   * `host`: a fault of the client's host, tried again by and by.
   */
  readonly scope: 'convicted' | 'local' | 'host';
}

export const maxStalledNames = 10;
