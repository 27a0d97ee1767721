import { errorCodes } from '../../lib/errors.ts';
import { eventReasons } from '../../status/index.ts';
import { list, number, object, ref, text, time } from './build.ts';

const objectName = { kind: text, scope: text, name: text };

export const eventSchemas = {
  Event: object({
    object: object(objectName, ['kind', 'name']),
    type: { enum: ['Normal', 'Warning'] },
    reason: { enum: Object.keys(eventReasons) },
    message: text,
    count: { ...number, description: 'How often it happened from the first time to the last.' },
    first: time,
    last: time,
    controller: { ...text, description: 'Who saw it.' },
  }),
  EventList: object({
    metadata: object({ revision: text, total: { ...number, description: 'How many match.' } }),
    items: list(ref('Event')),
  }),
  AuditRecord: object({
    id: text,
    revision: { ...text, description: 'Of the commit that stored it: that of the write itself where it was accepted.' },
    at: time,
    who: object({ name: text, kind: text }),
    from: text,
    requestId: text,
    request: text,
    outcome: { enum: ['accepted', 'refused', 'failed'] },
    code: { ...text, enum: Object.keys(errorCodes) },
    detail: text,
    count: { ...number, description: 'Refusals that are alike are counted together; absent: one.' },
    last: time,
    objects: list(
      object({
        ...objectName,
        change: { enum: ['created', 'updated', 'deleted'] },
        fields: list(object({ path: text, before: {}, after: {} })),
        cut: { ...number, description: 'Fields for which there was no room.' },
      }),
    ),
  }),
  AuditList: object({
    metadata: object({
      revision: text,
      continue: {
        ...text,
        description: 'Token of the next page, which may have records even where this one has none.',
      },
    }),
    items: list(ref('AuditRecord')),
  }),
};
