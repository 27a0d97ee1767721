import { FairwayError } from '../lib/errors.ts';
import { err, ok, type Result } from '../lib/result.ts';
import { type FairwayObject, type ObjectKey, redact } from '../model/index.ts';
import { entityTag, nameOf } from './present.ts';

/** What a request demands of the object that it changes: `If-Match` and `If-None-Match` (RFC 9110 section 13.1). */
export type Precondition =
  | { readonly kind: 'none' }
  /** `If-Match: "12"`, or several: one of them is the entity tag. */
  | { readonly kind: 'matches'; readonly tags: readonly string[] }
  /** `If-Match: *` */
  | { readonly kind: 'exists' }
  /** `If-None-Match: *` */
  | { readonly kind: 'absent' };

/** Throws `InvalidParameter` for what is neither; a precondition that is not understood must not be passed over. */
export function readPrecondition(headers: {
  readonly 'if-match'?: string | undefined;
  readonly 'if-none-match'?: string | undefined;
}): Precondition {
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = headers;
  if (ifMatch !== undefined && ifNoneMatch !== undefined)
    throw invalid('If-Match and If-None-Match exclude each other');
  if (ifNoneMatch !== undefined) {
    if (ifNoneMatch.trim() === '*') return { kind: 'absent' };
    throw invalid('If-None-Match of a write must be *');
  }
  if (ifMatch === undefined) return { kind: 'none' };
  if (ifMatch.trim() === '*') return { kind: 'exists' };
  const tags = ifMatch.split(',').map((tag) => tag.trim());
  if (tags.every((tag) => /^"[0-9]+"$/.test(tag))) return { kind: 'matches', tags };
  throw invalid('If-Match must be * or the revision in double quotes, as in "12"');
}

function invalid(fault: string): FairwayError {
  return new FairwayError('InvalidParameter', `reading the headers: ${fault}`);
}

/** Whether the precondition holds; the refusal carries the object as it is now. */
export function checkPrecondition(
  precondition: Precondition,
  key: ObjectKey,
  current: FairwayObject | undefined,
): Result<undefined, FairwayError> {
  const refuse = (fault: string) =>
    err(
      new FairwayError('Conflict', `writing ${nameOf(key)}: ${fault}`, {
        extra: current === undefined ? {} : { current: redact(current) },
      }),
    );
  switch (precondition.kind) {
    case 'none':
      return ok(undefined);
    case 'absent':
      return current === undefined ? ok(undefined) : refuse('it exists already');
    case 'exists':
      return current === undefined ? refuse('it does not exist') : ok(undefined);
    case 'matches':
      if (current === undefined) return refuse('it does not exist any more');
      if (precondition.tags.includes(entityTag(current))) return ok(undefined);
      return refuse(`it is at revision ${current.metadata.revision}, not ${precondition.tags.join(' or ')}`);
  }
}
