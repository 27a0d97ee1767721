import type { Kind } from '../../model/index.ts';
import type { Selection } from '../selection.ts';
import type { Authority } from './authority.ts';

/** The selection without what may not be seen, as long as it may not: grants can change while a watch is open. */
export function seenBy(authority: Authority, selection: Selection, kind: Kind): Selection {
  return {
    usesStatus: selection.usesStatus,
    matches: (object, status) => authority.sees(kind, object.metadata.scope) && selection.matches(object, status),
  };
}
