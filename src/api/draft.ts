import { FairwayError, type FieldError } from '../lib/errors.ts';
import { err, ok, type Result } from '../lib/result.ts';
import { inspectCertificate } from '../lib/x509.ts';
import {
  type DraftObject,
  type FairwayObject,
  keepSecrets,
  type ParseContext,
  parseObject,
  sameSpec,
} from '../model/index.ts';
import { keyOf, nameOf } from './present.ts';
import type { PutIntent } from './write.ts';

/** From a value of a body to the draft of an object. */

/** The draft, or `InvalidObject` with every fault. */
export function parseDraft(value: unknown, context: ParseContext): Result<DraftObject, FairwayError> {
  const parsed = parseObject(value, context);
  return parsed.ok ? parsed : err(invalidObject(parsed.error));
}

export function invalidObject(errors: readonly FieldError[], subject = 'reading the object'): FairwayError {
  const [first] = errors;
  const more = errors.length > 1 ? `, and ${errors.length - 1} more` : '';
  const place = first?.pointer === '' ? '' : `${first?.pointer} `;
  return new FairwayError('InvalidObject', `${subject}: ${place}${first?.message}${more}`, { errors });
}

/** What a put writes: the draft, with what only the stored object knows, checked as far as the model cannot. */
export function completing(draft: DraftObject, now: number): PutIntent['draft'] {
  return (current) => complete(draft, current, now);
}

function complete(
  draft: DraftObject,
  current: FairwayObject | undefined,
  now: number,
): Result<DraftObject, FairwayError> {
  const whole = keepSecrets(draft, current);
  // What is stored already was checked once: it may expire, but writing it again stays a no-op.
  if (whole.kind !== 'Certificate' || sameSpec(whole.spec, current?.spec)) return ok(whole);
  const inspected = inspectCertificate(whole.spec, now);
  return inspected.ok ? ok(whole) : err(invalidObject(inspected.error, `checking ${nameOf(keyOf(whole))}`));
}
