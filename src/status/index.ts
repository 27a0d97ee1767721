/**
 * status: what came of it, for people.
 *
 * A pure function of the graph's verdicts, of what proxies acknowledged or refused, and of the clock; evaluated when
 * somebody asks and stored nowhere. Only since when a condition has its status is stored, as a transition.
 */
export { type ConditionDraft, transitionsOf } from './conditions.ts';
export {
  type EventReason,
  type EventRecord,
  eventReasons,
  type Happening,
  likenessOf,
  maxEventMessage,
} from './event-record.ts';
export { mergeEvidence } from './evidence.ts';
export { type ExplainSources, type Explanation, explain } from './explain.ts';
export { type RecordWrite, upgradeRecords } from './former-records.ts';
export { draftsOf, type NodeStatus, type ObjectStatus, type StatusSources, statusOf } from './object-status.ts';
export { type Delivery, type HeldBack, programmed, type Realization } from './programmed.ts';
export {
  decodeRejection,
  decodeSearch,
  encodeRejection,
  encodeSearch,
  joinPieces,
  type Piece,
  partsOfWrite,
  pieceKey,
  piecesOf,
  recordKeyOf,
  surplusPieces,
} from './record-text.ts';
export {
  type ControllerRecord,
  type Culprit,
  type DeliveryRecord,
  type Evidence,
  type FleetDelivery,
  maxEarlier,
  maxLaggards,
  maxNamedNodes,
  type NodeRecord,
  type ProxyRejection,
  type Rejection,
  rejectionKey,
  type SearchRecord,
  type Suspect,
  type Transition,
  type TransitionRecord,
} from './records.ts';
