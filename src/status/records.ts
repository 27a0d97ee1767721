import type { ObjectKey } from '../model/index.ts';

/**
 * The records of the store that are neither spec nor history: what was seen of refusals and nodes (observed), and since
 * when a condition has its status (transitions). Values are JSON of these shapes; only Fairway writes them.
 */

/** A resource that proxies refused: the newest form that they refused, and the newest that they accepted. Observed. */
export interface Rejection {
  readonly type: string;
  readonly name: string;
  /** Hash of the refused form. */
  readonly hash: string;
  /** Revision of the configuration that held it. */
  readonly revision: number;
  /** The proxy's last words, normalised. */
  readonly words: string;
  /** What the proxies run that refused it, `envoy 1.40.0`. */
  readonly versions: readonly string[];
  /** Nodes that refused it, at most {@link maxNamedNodes}, and how many there were. */
  readonly nodes: readonly string[];
  readonly nodeCount: number;
  readonly count: number;
  /** RFC 3339. */
  readonly first: string;
  readonly last: string;
  /** Hashes of forms that were refused before, oldest first, at most {@link maxEarlier}. */
  readonly earlier: readonly string[];
  /**
   * The form that a proxy accepted last, with a revision of the configuration that it is known to stand for; 0 when it
   * was accepted before the refusal. Null: none is known.
   */
  readonly accepted: { readonly hash: string; readonly revision: number } | null;
  /** A proxy that runs the same accepted the refused form after all: it is a matter between it and single proxies. */
  readonly acquitted: boolean;
  /** The objects that changed between the form accepted last and the refused one. */
  readonly suspects: readonly Suspect[];
  /** False: it is not known which form was accepted last, so that the suspects are all objects in the refused one. */
  readonly isBaseKnown: boolean;
}

export interface Suspect {
  readonly unit: ObjectKey;
  /** Of the object: a later one of the same name is another. */
  readonly uid: string;
  /** Its generation in the refused form. */
  readonly refused: number;
  /** Its generation in the form accepted last; null when it was not part of one. */
  readonly good: number | null;
}

/** Longest list of nodes in a record. */
export const maxNamedNodes = 10;
/** A search sends no more forms than this for one culprit among thousands. */
export const maxEarlier = 32;

/** Key of a resource's records behind their store prefixes. */
export function rejectionKey(type: string, name: string): string {
  return `${shortType(type)}/${name}`;
}

/** `Cluster` of `type.googleapis.com/envoy.config.cluster.v3.Cluster`. */
export function shortType(type: string): string {
  return type.slice(type.lastIndexOf('.') + 1);
}

/** What proxies said to the forms that an object was part of. */
export type Evidence = Pick<Rejection, 'hash' | 'words' | 'versions' | 'nodes' | 'nodeCount' | 'first' | 'last'>;

/** An object whose refused generation was found to be at fault. */
export interface Culprit extends Suspect {
  readonly evidence: Evidence;
}

/**
 * What was decided about the objects of a refused resource. All but those of `trial` are served in their good
 * generation, or not at all when there is none, as long as they stand in the refused one. Plan.
 */
export interface SearchRecord {
  readonly type: string;
  readonly name: string;
  readonly guilty: readonly Culprit[];
  /** Served as they stand, to see whether proxies accept that. */
  readonly trial: readonly Suspect[];
  /** With what was on trial last, the objects of which at least one is at fault. */
  readonly hot: readonly Suspect[];
  /** Were refused together with a culprit: nothing is known of them. */
  readonly cold: readonly Suspect[];
  /** Of the refusals that the search is about; null when there is none under way. */
  readonly evidence: Evidence | null;
}

/** The last that was seen of a node. */
export interface NodeRecord {
  readonly nodeId: string;
  readonly fleet: string;
  readonly version: string;
  readonly connected: boolean;
  /** RFC 3339: since when it is connected, or not. */
  readonly since: string;
  /** The controller that has seen it. Absent: it was seen by one that knew of no others. */
  readonly controller?: string;
}

/** What a controller says of itself every few seconds, so that the others know that it is there. Observed. */
export interface ControllerRecord {
  readonly id: string;
  /** Of this run of its process. */
  readonly run: string;
  /** Where it is reached, `host:port`; empty where it has no such door. */
  readonly address: string;
  readonly xdsAddress: string;
  /** Its public key for this run, by which the others know what it asks them. Absent: it asks and answers nobody. */
  readonly key?: string;
  /** SHA-256 of the certificate that its REST door shows; absent: plain text. */
  readonly certificate?: string;
  readonly version: string;
  readonly roles: readonly string[];
  /** RFC 3339. */
  readonly startedAt: string;
  readonly seenAt: string;
  /** The term that it leads in; null: another leads. */
  readonly leading: { readonly term: number; readonly since: string } | null;
  /** Revision that its View has reached, and how far it was behind the newest one that it had heard of. */
  readonly revision: number;
  readonly lag: number;
  /** Proxies connected to it. */
  readonly proxies: number;
  readonly memoryBytes: number;
  /** Processors' worth of time that it uses: 1 is one of them, always busy. */
  readonly cpu: number;
}

/**
 * How far the proxies of one controller are, by fleet: what the others need to say whether an object is in force
 * everywhere. Written when that has changed, at most a few times a second however many proxies and changes there are.
 * Observed.
 */
export interface DeliveryRecord {
  /** Revision of its View when it was written: a proxy that is in step has all up to here. */
  readonly revision: number;
  readonly fleets: Readonly<Record<string, FleetDelivery>>;
  /** At most {@link maxLaggards}. */
  readonly rejected: readonly ProxyRejection[];
}

export interface FleetDelivery {
  readonly proxies: number;
  /** All of them have acknowledged everything up to here. */
  readonly acked: number;
  /** Nodes that are not in step, each with what it has acknowledged; at most {@link maxLaggards}. */
  readonly behind: readonly (readonly [node: string, acked: number])[];
  /** How many more there are. */
  readonly more: number;
}

/** What one proxy alone refuses; what all of a version refuse has a record of its own. */
export interface ProxyRejection {
  readonly node: string;
  readonly type: string;
  readonly name: string;
  readonly words: string;
  readonly scope: 'convicted' | 'local' | 'host';
  /** RFC 3339. */
  readonly since?: string;
}

/** Longest list of proxies by name in a record of deliveries. */
export const maxLaggards = 100;

/** A condition's status, and since when. */
export interface Transition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  /** RFC 3339. */
  readonly since: string;
}

export interface TransitionRecord {
  /** Of the object: a later one of the same name begins anew. */
  readonly uid: string;
  readonly transitions: readonly Transition[];
}
