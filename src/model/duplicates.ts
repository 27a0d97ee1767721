import type { FieldError } from '../lib/errors.ts';
import { pointerTo } from './ref.ts';

/** An error for each item of a list at `pointer` whose key an earlier one has; undefined keys are never equal. */
export function duplicates<T>(
  list: readonly T[],
  pointer: string,
  field: string,
  keyOf: (item: T) => string | undefined,
): readonly FieldError[] {
  const first = new Map<string, number>();
  const errors: FieldError[] = [];
  for (const [i, item] of list.entries()) {
    const key = keyOf(item);
    if (key === undefined) continue;
    const before = first.get(key);
    if (before === undefined) first.set(key, i);
    else {
      errors.push({
        pointer: pointer + pointerTo(i) + field,
        message: `\`${key}\` is already used by ${pointer}${pointerTo(before)}`,
      });
    }
  }
  return errors;
}
