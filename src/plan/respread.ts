/**
 * How proxies spread anew over the controllers when one of these comes back. A controller cannot move a proxy to another:
 * it can end its stream, and the proxy opens the next one wherever its own balancing leads it. So this goes slowly, from
 * what all know of each other, and one controller acts at a time: the one with most streams.
 */

/** A controller that proxies can be attached to, as far as another knows it. */
export interface SpreadMember {
  readonly id: string;
  readonly streams: number;
  /** It is there, does not lag behind the store, and has been so for a while. */
  readonly isReady: boolean;
}

/**
 * So far from its share a controller may be, as a part of it. One may have so much less only when the others have as much
 * more together, so each of them may have the part of this that falls to it.
 */
const tolerance = 0.2;

/** Where shares are small, whole streams do not divide evenly. */
const slackStreams = 1;

/**
 * How many of its streams `self` ends now, at most `atMost`: none unless it has most of all, and clearly more than its
 * share; never so many that it would have less than that; and none while any controller is not ready, since what it has,
 * and will have in a moment, is not known then.
 */
export function planRespread(self: string, members: readonly SpreadMember[], atMost: number): number {
  const own = members.find(({ id }) => id === self);
  if (own === undefined || members.length < 2 || members.some(({ isReady }) => !isReady)) return 0;
  const hasMore = members.some(({ id, streams }) => streams > own.streams || (streams === own.streams && id < self));
  if (hasMore) return 0;
  const share = members.reduce((sum, { streams }) => sum + streams, 0) / members.length;
  const excess = own.streams - share;
  if (excess <= Math.max(slackStreams, (share * tolerance) / (members.length - 1))) return 0;
  return Math.min(atMost, Math.floor(excess));
}
