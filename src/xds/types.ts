import { type TypeUrl, typeUrls } from './resource.ts';

/** How responses of a type are made. */
export interface TypeTraits {
  /** Place in a push: what others need comes first, and an assignment never before its cluster. */
  readonly order: number;
  /** One resource to a response, so that a refusal names itself: Envoy applies a refused batch of these in part. */
  readonly single: boolean;
  /** Responses that may be unanswered at a time. */
  readonly window: number;
  /**
   * Whether a client may be told that a name does not exist. Not so for ECDS: a listener that waits for the name
   * would warm for ever, and one that has it would lose its policy.
   */
  readonly removable: boolean;
}

/** Envoy withholds its CDS answers while any cluster warms, so one unanswered response must not stop the next. */
const clusterWindow = 8;

const known: ReadonlyMap<TypeUrl, TypeTraits> = new Map([
  [typeUrls.cluster, { order: 0, single: false, window: clusterWindow, removable: true }],
  [typeUrls.endpoint, { order: 1, single: false, window: 1, removable: true }],
  [typeUrls.secret, { order: 2, single: true, window: 1, removable: true }],
  [typeUrls.extension, { order: 3, single: true, window: 1, removable: false }],
  [typeUrls.listener, { order: 4, single: false, window: 1, removable: true }],
  [typeUrls.route, { order: 5, single: true, window: 1, removable: true }],
]);

/** Types of our own (agents) and types nobody knows: in batches, after Envoy's. */
const others: TypeTraits = { order: 6, single: false, window: 1, removable: true };

export function traitsOf(type: TypeUrl): TypeTraits {
  return known.get(type) ?? others;
}

/** Whether this server has rules of its own for the type. */
export function isKnownType(type: TypeUrl): boolean {
  return known.has(type);
}
