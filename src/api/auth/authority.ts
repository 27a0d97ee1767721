import {
  type Action,
  type Decision,
  decide,
  decideAnywhere,
  describeAction,
  describeIdentity,
  type Grant,
  type Identity,
} from '../../access/index.ts';
import { FairwayError } from '../../lib/errors.ts';
import type { Kind } from '../../model/index.ts';
import type { Credential } from './credential.ts';
import type { Grants } from './grants.ts';

/** What whoever sent a request may do, now: grants that are taken back count no more. One per request. */
export interface Authority {
  readonly identity: Identity;
  readonly grants: readonly Grant[];
  /** Whether the login itself still counts. */
  holds(): boolean;
  /** `Forbidden`, told to whoever keeps the audit; undefined: it may be done. */
  refusal(action: Action, object?: string): FairwayError | undefined;
  /** For what looks at many scopes; undefined: it may be done in one of them at least. */
  refusalAnywhere(action: Pick<Action, 'verb' | 'kind'>): FairwayError | undefined;
  /** `Forbidden` for what another rule refuses, in its words. */
  forbid(action: Action, words: string, object?: string): FairwayError;
  /** Whether the objects of a scope may be seen. Asked for each of thousands, and tells nobody. */
  sees(kind: Kind, scope: string | undefined): boolean;
}

/** Something that was refused to somebody. */
export interface Refused {
  readonly identity: Identity;
  readonly action: Action;
  /** Which object, where there was one: `BackendPool default/web`. */
  readonly object: string | undefined;
  /** What it would take. */
  readonly words: string;
}

/** The one place where the API decides: every question comes by here, and every refusal is told to `onRefused`. */
export function createAuthority(
  credential: Credential,
  grants: Grants,
  onRefused: (refused: Refused) => void,
): Authority {
  const { identity } = credential;
  /** Scopes looked at already, with the grants that they were looked at with. */
  let seen = { grants: grants.of(identity), scopes: new Map<string, boolean>() };

  function tell(decision: Decision, action: Action, object: string | undefined): FairwayError | undefined {
    return decision.allowed ? undefined : forbid(action, decision.words, object);
  }

  function forbid(action: Action, words: string, object?: string): FairwayError {
    onRefused({ identity, action, object, words });
    const what = object === undefined ? describeAction(action) : `${action.verb} ${object}`;
    return new FairwayError('Forbidden', `${describeIdentity(identity)} may not ${what}: ${words}`);
  }

  return {
    identity,
    get grants() {
      return grants.of(identity);
    },
    holds: () => credential.holds(),
    refusal: (action, object) => tell(decide(grants.of(identity), action), action, object),
    refusalAnywhere({ verb, kind }) {
      const action: Action = { verb, kind, scope: undefined, touchesSecret: false };
      return tell(decideAnywhere(grants.of(identity), action), action, undefined);
    },
    forbid,
    sees(kind, scope) {
      const now = grants.of(identity);
      if (now !== seen.grants) seen = { grants: now, scopes: new Map() };
      const key = `${kind} ${scope ?? ''}`;
      let visible = seen.scopes.get(key);
      if (visible === undefined) {
        visible = decide(now, { verb: 'read', kind, scope, touchesSecret: false }).allowed;
        seen.scopes.set(key, visible);
      }
      return visible;
    },
  };
}
