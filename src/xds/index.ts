/**
 * The xDS room: serves resources to Envoy (and to our agents) over the aggregated protocols, delta and
 * state-of-the-world, changing only what changed. It is fed with Commits and gives Progress, both structured-clonable;
 * it reads no store and knows no noun of Fairway. One hub (table, streams, forms) for a server, one session for an open
 * stream, one state for each type on it. Nothing here has I/O, a clock or randomness of its own; the gRPC shell is
 * `io/`.
 *
 * Resources are encoded once and their bytes shared by all streams; a stream keeps names and versions, never messages,
 * and what is sent is decided when the socket can take it, so a slow client costs one set of names.
 */
export type { Change } from './change-log.ts';
export {
  type CheckResource,
  type ClientOptions,
  type ClientStep,
  createDeltaClient,
  type DeltaClient,
} from './client.ts';
export {
  answerClientStatus,
  type ClientStatusAnswer,
  type ClientStatusRequest,
  clientStatusTooLarge,
  joinClientStatus,
  nameClients,
  readClientStatusRequest,
} from './client-status.ts';
export { composePieces } from './composite.ts';
export type { Counts, TypeCounts } from './counts.ts';
export type { Delivery, Fleet, RejectedName, ResourceVersions, StreamStatus, TypeStatus } from './fleet.ts';
export type { Conviction, Form } from './forms.ts';
export { createHub, type Hub, type HubOptions, type HubStream, type StreamOptions, type Work } from './hub.ts';
export { encodeNode, type Json, type NodeInfo } from './node-info.ts';
export type { Blame, Progress, Rejection } from './progress.ts';
export {
  type Commit,
  composeResource,
  encodeResource,
  type Need,
  type Part,
  type Piece,
  type Resource,
  type TypeUrl,
  typeUrls,
} from './resource.ts';
export type { StreamError } from './session.ts';
export type { PeerIdentity, Trust } from './stream.ts';
export { wildcardName } from './subscription.ts';
export { type Entry, subjectsOf, type Table } from './table.ts';
export {
  decodeResource,
  type Frame,
  joinFrame,
  joinShared,
  type Protocol,
  type WireResource,
} from './wire.ts';
export { normaliseWords } from './words.ts';
