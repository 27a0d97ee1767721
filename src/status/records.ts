import type { ObjectKey } from '../model/index.ts';

/**
 * The records of the store that are neither spec nor history: what was seen of refusals and nodes (observed), and since
 * when a condition has its status (transitions). Values are JSON of these shapes; only Fairway writes them.
 */

/** A resource that proxies refused, with the objects it is laid at. */
export interface Rejection {
  readonly type: string;
  readonly name: string;
  /** Hash of the refused form. */
  readonly hash: string;
  /** The proxy's last words, normalised. */
  readonly words: string;
  /** `convicted`: refused wherever it was tried; `local`: others accepted it; `host`: a fault of the proxy's host. */
  readonly scope: 'convicted' | 'local' | 'host';
  /** Nodes that refused it, at most {@link maxNamedNodes}, and how many there were. */
  readonly nodes: readonly string[];
  readonly nodeCount: number;
  readonly count: number;
  /** RFC 3339. */
  readonly first: string;
  readonly last: string;
  /** The objects that changed since the last accepted form, with those of earlier refusals that still stand so. */
  readonly suspects: readonly Suspect[];
}

export interface Suspect {
  readonly unit: ObjectKey;
  /** Of the object: a later one of the same name is another. */
  readonly uid: string;
  /** Its generation in the refused form. */
  readonly refused: number;
  /** Its generation in the last accepted form; null when it was not part of one. */
  readonly good: number | null;
  /** What the proxy said when this object's change was among the refused. */
  readonly words: string;
}

export const maxNamedNodes = 10;

/** Key of a rejection behind its store prefix. */
export function rejectionKey(type: string, name: string): string {
  return `${type.slice(type.lastIndexOf('.') + 1)}/${name}`;
}

/** Plan: the refused generation of an object, and the one that goes on being served (null: none). */
export interface PinRecord {
  /** Of the object: the pin does not hold for a later one of the same name. */
  readonly uid: string;
  readonly refused: number;
  readonly good: number | null;
}

/** The last that was seen of a node. */
export interface NodeRecord {
  readonly nodeId: string;
  readonly fleet: string;
  readonly version: string;
  readonly connected: boolean;
  /** RFC 3339: since when it is connected, or not. */
  readonly since: string;
}

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
