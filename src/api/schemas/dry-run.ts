import { list, number, object, ref, text } from './build.ts';

const resourceNames = list(object({ type: text, name: text }));
const removed = object({ removed: number, of: number });
const removals = list(object({ fleet: text, listeners: removed, clusters: removed }));
const briefConditions = list(object({ type: text, status: text, reason: text, message: text }));

export const dryRunSchema = {
  ...object(
    {
      dryRun: { const: true },
      revision: { ...text, description: 'Store revision of the world that it was tried on.' },
      objects: list(
        object({
          kind: text,
          scope: text,
          name: text,
          outcome: { enum: ['created', 'updated', 'unchanged', 'deleted'] },
          before: ref('AnyObject'),
          after: ref('AnyObject'),
        }),
      ),
      conditions: list(object({ key: text, before: briefConditions, after: briefConditions })),
      resources: object({ added: resourceNames, changed: resourceNames, removed: resourceNames }),
      proxies: { ...list(text), description: 'Connected nodes that would be sent something.' },
      drains: object({ listeners: list(text), filterChains: list(text) }),
      removals,
      massRemoval: object({
        removals: { ...number, description: 'What `confirmRemovals` must repeat.' },
        fleets: removals,
      }),
      exact: { type: 'boolean', description: 'false: so large that only the objects concerned are listed.' },
    },
    ['dryRun', 'revision', 'objects'],
  ),
  description: 'What a write would do.',
};
