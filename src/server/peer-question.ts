import type { CommitInfo, ProxyInfo, ProxyResource } from '../api/index.ts';

/** What controllers ask each other, about the proxies attached to whoever answers. */
export type PeerQuestion =
  | { readonly ask: 'proxies'; readonly fleet?: string | undefined; readonly node?: string | undefined }
  | { readonly ask: 'config'; readonly node: string; readonly type?: string | undefined; readonly content: boolean }
  | { readonly ask: 'compare'; readonly node?: string | undefined }
  | { readonly ask: 'commit'; readonly revision: number }
  | ClientStatusQuestion;

/** What Envoy's ClientStatusDiscoveryService is asked. */
export interface ClientStatusQuestion {
  readonly ask: 'clientStatus';
  /** Base64 of an encoded `ClientStatusRequest`. */
  readonly request: string;
  /** Nothing is said of nodes with other ids. */
  readonly only?: string | undefined;
  /** The answer may not be larger, before it is base64. */
  readonly maxBytes: number;
}

/** What is answered to each; null: there is no such thing here. */
export interface PeerAnswers {
  readonly proxies: readonly ProxyInfo[];
  readonly config: readonly ProxyResource[] | null;
  readonly compare: number;
  readonly commit: CommitInfo | null;
  /** Base64 of the pieces, one by one, of an encoded `ClientStatusResponse`; null: it is larger than it may be. */
  readonly clientStatus: readonly string[] | null;
}

export type AnswerTo<Q extends PeerQuestion> = PeerAnswers[Q['ask']];

/** Around a question, and signed with it: it counts for one run of one controller, and for a while. */
export interface PeerEnvelope {
  readonly from: string;
  /** Run of the controller that is asked. */
  readonly to: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly question: PeerQuestion;
}

/** Clocks of controllers may differ by so much. */
export const maxSkewMs = 5 * 60_000;

/** Scheme of the header `Authorization`, before the signature of the body. */
export const peerScheme = 'Controller';

export const peerPath = '/v1/peer';
