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
  /**
   * Whether a state-of-the-world response holds all that the client should have, so that an absent name is a
   * deletion (rule 27). Responses of the other types say nothing of what they leave out.
   */
  readonly fullSet: boolean;
  /**
   * Whether the client makes it ready before it answers. Envoy keeps a cluster whose load balancing it refused as one
   * that warms for ever, and while one warms it answers for none (seen on 1.40).
   */
  readonly warms: boolean;
  /** Whether clients ask for it by name only: in state-of-the-world, an empty list never means all (rule 20). */
  readonly byName: boolean;
}

/** Envoy withholds its CDS answers while any cluster warms, so one unanswered response must not stop the next. */
const clusterWindow = 8;

/**
 * Types that go one to a response: the answer names the resource anyway, by its nonce. So many are on their way at a
 * time, or else the first fill of 2,000 certificates would cost 2,000 round trips.
 */
const singleWindow = 32;

const whole = { single: false, removable: true, fullSet: true, warms: false, byName: false } as const;
const named = {
  single: true,
  window: singleWindow,
  removable: true,
  fullSet: false,
  warms: false,
  byName: true,
} as const;

const known: ReadonlyMap<TypeUrl, TypeTraits> = new Map<TypeUrl, TypeTraits>([
  [typeUrls.cluster, { ...whole, order: 0, window: clusterWindow, warms: true }],
  [typeUrls.endpoint, { ...named, order: 1, single: false, window: 1 }],
  [typeUrls.secret, { ...named, order: 2 }],
  [typeUrls.extension, { ...named, order: 3, removable: false }],
  [typeUrls.listener, { ...whole, order: 4, window: 1 }],
  [typeUrls.route, { ...named, order: 5 }],
]);

/** Types of our own (agents) and types nobody knows: in batches, after Envoy's. */
const others: TypeTraits = {
  order: 6,
  single: false,
  window: 1,
  removable: true,
  warms: false,
  fullSet: false,
  byName: false,
};

export function traitsOf(type: TypeUrl): TypeTraits {
  return known.get(type) ?? others;
}

/** Whether this server has rules of its own for the type. */
export function isKnownType(type: TypeUrl): boolean {
  return known.has(type);
}
