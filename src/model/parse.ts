import type { FieldError } from '../lib/errors.ts';
import { nearest } from '../lib/nearest.ts';
import { err, ok, type Result } from '../lib/result.ts';
import { checkSchema, maxErrors } from './check.ts';
import { quote } from './formats.ts';
import { type Kind, kindNames } from './kind.ts';
import { apiVersion, type DraftMetadata, type DraftObject, type KindInfo, kindInfo } from './kinds.ts';
import { objectSchema } from './object-schema.ts';
import { defaultScope } from './ref.ts';

/** What the caller knows already, mostly from a URL. Where the input leaves it out, it is filled in. */
export interface ParseContext {
  readonly kind?: Kind;
  readonly name?: string;
  /** The scope that the object must have. */
  readonly scope?: string;
  /** The scope of an object that names none, when it may name another one; absent: `default`. */
  readonly defaultScope?: string;
}

/**
 * The one check of an object: shape, limits and what fields demand of each other. Takes any JSON value and never
 * throws. The result holds what the writer gave and nothing else: fields that Fairway writes are left out, defaults are
 * not filled in, except for `metadata.scope`, `labels`, `annotations` and an empty `spec`.
 *
 * Rules between fields are looked at once the shape is right, so a second round of errors may follow the first.
 */
export function parseObject(input: unknown, context: ParseContext = {}): Result<DraftObject, readonly FieldError[]> {
  if (!isRecord(input)) {
    return err([{ pointer: '', message: 'must be an object with apiVersion, kind, metadata and spec' }]);
  }
  const kind = readKind(input['kind'] ?? context.kind, context);
  if (!kind.ok) return err([kind.error]);
  const info = kindInfo(kind.value);
  if (info.global && isRecord(input['metadata']) && input['metadata']['scope'] !== undefined) {
    return err([{ pointer: '/metadata/scope', message: `must be absent: a ${info.kind} belongs to no scope` }]);
  }
  const candidate = withContext(input, info, context);
  const errors = checkSchema(objectSchema(info.kind), candidate);
  if (errors.length === 0) errors.push(...contextFaults(candidate, context));
  if (errors.length > 0) return err(errors.slice(0, maxErrors));
  // The schema held, so the shape is that of the kind.
  const draft = toDraft(candidate, info);
  const faults = info.check(draft.spec);
  return faults.length === 0 ? ok(draft) : err(faults.slice(0, maxErrors));
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function readKind(value: unknown, context: ParseContext): Result<Kind, FieldError> {
  const fail = (message: string) => err({ pointer: '/kind', message });
  if (value === undefined) return fail(`is required: one of ${kindNames.join(', ')}`);
  if (typeof value !== 'string') return fail('must be a text');
  const kind = kindNames.find((name) => name === value);
  if (kind === undefined) {
    const near = nearest(value, kindNames);
    const hint = near === undefined ? `the kinds are ${kindNames.join(', ')}` : `did you mean \`${near}\`?`;
    return fail(`there is no kind ${quote(value)}; ${hint}`);
  }
  if (context.kind !== undefined && kind !== context.kind) return fail(`must be ${context.kind} here, not ${kind}`);
  return ok(kind);
}

/** The input with what the context knows, and with the parts that may be left out. */
function withContext(input: Readonly<Record<string, unknown>>, info: KindInfo, context: ParseContext) {
  const { metadata = {}, spec = {}, ...rest } = input;
  return {
    ...rest,
    apiVersion: input['apiVersion'] ?? (context.kind === undefined ? undefined : apiVersion),
    kind: info.kind,
    metadata: isRecord(metadata) ? metadataWithContext(metadata, info, context) : metadata,
    spec,
  };
}

function metadataWithContext(metadata: Readonly<Record<string, unknown>>, info: KindInfo, context: ParseContext) {
  const name = metadata['name'] ?? context.name;
  const scope = metadata['scope'] ?? context.scope ?? context.defaultScope ?? defaultScope;
  return {
    ...metadata,
    ...(name === undefined ? {} : { name }),
    ...(info.global ? {} : { scope }),
  };
}

function contextFaults(candidate: { readonly metadata: unknown }, context: ParseContext): readonly FieldError[] {
  const metadata = candidate.metadata as DraftMetadata;
  return (['name', 'scope'] as const)
    .filter((field) => context[field] !== undefined && metadata[field] !== undefined)
    .filter((field) => metadata[field] !== context[field])
    .map((field) => ({
      pointer: `/metadata/${field}`,
      message: `must be ${context[field]} as in the address of the request, not ${metadata[field]}`,
    }));
}

function toDraft(candidate: { readonly metadata: unknown; readonly spec: unknown }, info: KindInfo): DraftObject {
  const {
    name,
    scope,
    labels = {},
    annotations = {},
  } = candidate.metadata as Partial<DraftMetadata> & { name: string };
  return {
    apiVersion,
    kind: info.kind,
    metadata: { name, ...(scope === undefined ? {} : { scope }), labels, annotations },
    spec: candidate.spec,
  } as DraftObject;
}
