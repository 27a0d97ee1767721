/** `Kind/scope/name`, or `Kind/name` for a global kind: identifies an object everywhere inside Fairway. */
export type ObjectKey = string;

/** What stands around every spec. The fields after `annotations` are written by Fairway and ignored on input. */
export interface Metadata {
  readonly name: string;
  /** Absent for global kinds. */
  readonly scope?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly uid: string;
  /** Grows by one when, and only when, spec changes. Starts at 1. */
  readonly generation: number;
  /** Store revision of the last change of spec or metadata, a decimal string. */
  readonly revision: string;
  /** Store revision of the creation: "older" means a smaller one, then the name. */
  readonly createdRevision: string;
  /** RFC 3339, UTC. */
  readonly createdAt: string;
  /** Set on objects that an importer or Fairway itself keeps; writes by others are refused. */
  readonly source?: string;
}

export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  /** CamelCase, from the closed list of the kind. */
  readonly reason: string;
  /** Names the object and the field and says what to do. */
  readonly message: string;
  readonly observedGeneration: number;
  /** RFC 3339; changes only when `status` does. */
  readonly lastTransitionTime: string;
}
