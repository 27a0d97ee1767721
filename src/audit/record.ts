import { type FairwayObject, type ObjectKey, parseObjectKey, storeKey } from '../model/index.ts';
import { type ChangedField, changedFields } from './changed-fields.ts';

/** Who did it. */
export interface AuditSubject {
  readonly name: string;
  /** How they were known: `token`, `certificate`, `oidc`, `proxy`, …; `anonymous` where nobody asked, `controller` for
   * what one does by itself. */
  readonly kind: string;
}

/** Where something came from. */
export interface AuditSource {
  readonly who: AuditSubject;
  /** Address, without a port; empty: this machine's own doing. */
  readonly from: string;
  readonly requestId: string;
  /** `PUT /v1/scopes/:scope/backend-pools/:name`: the pattern and not the path, which the objects say. */
  readonly request: string;
}

export interface AuditRecord extends AuditSource {
  /** RFC 3339. */
  readonly at: string;
  readonly outcome: 'accepted' | 'refused' | 'failed';
  /** Why not: a code of the error table, with its words. */
  readonly code?: string;
  readonly detail?: string;
  /** Of refusals that are counted together: how many, and when the last. */
  readonly count?: number;
  readonly last?: string;
  readonly objects: readonly AuditedObject[];
}

export interface AuditedObject {
  readonly kind: string;
  readonly scope?: string;
  readonly name: string;
  /** Absent: it was not changed. */
  readonly change?: 'created' | 'updated' | 'deleted';
  readonly fields?: readonly ChangedField[];
  /** How many further fields there is no room for; what is stored of the object itself, or its history, has them. */
  readonly cut?: number;
}

/** Each kept by its own number. */
export const auditKinds = ['auditWrite', 'auditRefusal'] as const;

export type AuditKind = (typeof auditKinds)[number];

/** Characters that the fields of one object, and of all in one record, may take up: values of the store have limits. */
const maxObjectText = 16 * 1024;
const maxRecordText = 64 * 1024;

/** What happened to an object, as far as there is room. */
export function auditedObject(
  key: ObjectKey,
  before: FairwayObject | undefined,
  after: FairwayObject | undefined,
  room = maxObjectText,
): AuditedObject {
  const change = before === undefined ? 'created' : after === undefined ? 'deleted' : 'updated';
  const all = changedFields(before, after);
  const fields: ChangedField[] = [];
  let left = room;
  for (const field of all) {
    left -= JSON.stringify(field).length;
    if (left >= 0) fields.push(field);
  }
  const cut = all.length - fields.length;
  return { ...parseObjectKey(key), change, fields, ...(cut > 0 && { cut }) };
}

/** The record of an accepted write. Objects share the room there is. */
export function auditRecord(
  source: AuditSource,
  at: number,
  writes: readonly {
    readonly key: ObjectKey;
    readonly before: FairwayObject | undefined;
    readonly after: FairwayObject | undefined;
  }[],
): AuditRecord {
  const room = Math.min(maxObjectText, Math.floor(maxRecordText / Math.max(1, writes.length)));
  const objects = writes.map(({ key, before, after }) => auditedObject(key, before, after, room));
  return { at: new Date(at).toISOString(), ...source, outcome: 'accepted', objects };
}

/** Where a record is kept, and as what. `id` sets apart those of one millisecond. */
export function auditPut(record: AuditRecord, id: string): { readonly key: string; readonly value: string } {
  const kind: AuditKind = record.outcome === 'accepted' ? 'auditWrite' : 'auditRefusal';
  return { key: storeKey(kind, `${record.at}-${id}`), value: JSON.stringify(record) };
}

/** Time of a record by what follows the prefix in its key. */
export function auditTimeOf(name: string): number {
  return Date.parse(name.slice(0, '2030-01-01T00:00:00.000Z'.length));
}
