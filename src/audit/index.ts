/**
 * audit: who did what, from where, when, and what it changed.
 *
 * Records are made here, purely, and kept in the store by those who know of something: an accepted write puts its
 * record in the same transaction, so that there is never one without the other. Keys begin with the time, so that their
 * order is that of what happened; nothing changes a record, and only age and number take them away. Writes and
 * refusals are kept apart: who is refused a thousand times does not push out what others did.
 */
export { type ChangedField, changedFields } from './changed-fields.ts';
export {
  type AuditedObject,
  type AuditKind,
  type AuditRecord,
  type AuditSource,
  type AuditSubject,
  auditedObject,
  auditKinds,
  auditPut,
  auditRecord,
  auditTimeOf,
} from './record.ts';
