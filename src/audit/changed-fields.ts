import { type FairwayObject, kindInfo, redact, sameSpec } from '../model/index.ts';

/** One field of an object that is not what it was. */
export interface ChangedField {
  /** JSON pointer into the object; in a list that grew or shrank, an item counts where it stood or stands. */
  readonly path: string;
  /** Absent: it was not there. */
  readonly before?: unknown;
  /** Absent: it is there no more. */
  readonly after?: unknown;
}

/** Stands for a secret on both sides of a change. */
const concealed = '[redacted]';

/**
 * What an operator wrote differently: labels, annotations and spec, down to the fields that differ. Of what was created
 * or deleted, each field of the first level. Secrets are told as changed, and not what they are.
 */
export function changedFields(before: FairwayObject | undefined, after: FairwayObject | undefined): ChangedField[] {
  const [was, is] = [contentOf(before), contentOf(after)];
  const fields: ChangedField[] = [];
  for (const part of ['/metadata/labels', '/metadata/annotations', '/spec']) {
    compareMaps(valueAt(was, part) as Fields, valueAt(is, part) as Fields, part, fields);
  }
  const kind = (after ?? before)?.kind;
  for (const path of kind === undefined ? [] : kindInfo(kind).secretFields) {
    const [old, now] = [valueAt(before, path), valueAt(after, path)];
    if (old === now) continue;
    fields.push({
      path,
      ...(old === undefined ? {} : { before: concealed }),
      ...(now === undefined ? {} : { after: concealed }),
    });
  }
  return fields;
}

type Fields = Readonly<Record<string, unknown>>;

const nothing = { metadata: { labels: {}, annotations: {} }, spec: {} };

function contentOf(object: FairwayObject | undefined): unknown {
  return object === undefined ? nothing : redact(object);
}

function valueAt(value: unknown, path: string): unknown {
  let found = value;
  for (const field of path.split('/').slice(1)) {
    if (typeof found !== 'object' || found === null) return undefined;
    found = fieldOf(found as Fields, field);
  }
  return found;
}

function fieldOf(fields: Fields, name: string): unknown {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}

function compare(before: unknown, after: unknown, path: string, fields: ChangedField[]): void {
  if (sameSpec(before, after)) return;
  if (Array.isArray(before) && Array.isArray(after)) compareLists(before, after, path, fields);
  else if (isMap(before) && isMap(after)) compareMaps(before, after, path, fields);
  else fields.push({ path, ...(before !== undefined && { before }), ...(after !== undefined && { after }) });
}

function compareMaps(before: Fields, after: Fields, path: string, fields: ChangedField[]): void {
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    compare(fieldOf(before, name), fieldOf(after, name), `${path}/${escaped(name)}`, fields);
  }
}

/** Items that are alike at both ends stay out of it; in between each is compared, or came, or went. */
function compareLists(
  before: readonly unknown[],
  after: readonly unknown[],
  path: string,
  fields: ChangedField[],
): void {
  let start = 0;
  while (start < before.length && start < after.length && sameSpec(before[start], after[start])) start += 1;
  let [beforeEnd, afterEnd] = [before.length, after.length];
  while (beforeEnd > start && afterEnd > start && sameSpec(before[beforeEnd - 1], after[afterEnd - 1])) {
    beforeEnd -= 1;
    afterEnd -= 1;
  }
  if (beforeEnd === afterEnd) {
    for (let at = start; at < beforeEnd; at += 1) compare(before[at], after[at], `${path}/${at}`, fields);
    return;
  }
  for (let at = start; at < beforeEnd; at += 1) fields.push({ path: `${path}/${at}`, before: before[at] });
  for (let at = start; at < afterEnd; at += 1) fields.push({ path: `${path}/${at}`, after: after[at] });
}

function isMap(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** RFC 6901 section 3. */
function escaped(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
