import { Composer, CST, type Document, LineCounter, Parser } from 'yaml';
import type { FieldError } from '../lib/errors.ts';
import { err, ok, type Result } from '../lib/result.ts';
import { maxErrors } from './check.ts';
import { readJson, type TextFault } from './json-text.ts';

/** Text with objects in it, as people write it: YAML with any number of documents, or one JSON value. */

export interface ManifestOptions {
  readonly format: 'yaml' | 'json';
  readonly limits?: {
    /** Nesting of objects and lists. 64 when absent. */
    readonly maxDepth?: number;
    /** Documents in one text. 1000 when absent. */
    readonly maxDocuments?: number;
  };
}

/**
 * Aliases are resolved by sharing, but what they stand for is checked and stored as often as it is named: a few repeated
 * blocks are convenient, exponential ones are an attack.
 */
const maxAliasCount = 100;

/**
 * The documents of a text, empty ones left out. Values are of JSON's types as written: YAML's core schema, no merge
 * keys, no tags beyond it, no key twice. Errors name line and column, both counted from 1.
 */
export function parseManifest(
  text: string,
  options: ManifestOptions,
): Result<readonly unknown[], readonly FieldError[]> {
  const { maxDepth = 64, maxDocuments = 1000 } = options.limits ?? {};
  return options.format === 'json' ? parseJson(text, maxDepth) : parseYaml(text, maxDepth, maxDocuments);
}

function parseJson(text: string, maxDepth: number): Result<readonly unknown[], readonly FieldError[]> {
  const value = readJson(text, maxDepth);
  if (value.ok) return ok([value.value]);
  const lines = text.slice(0, value.error.offset).split('\n');
  return err([located(value.error, { line: lines.length, col: (lines.at(-1)?.length ?? 0) + 1 })]);
}

function parseYaml(
  text: string,
  maxDepth: number,
  maxDocuments: number,
): Result<readonly unknown[], readonly FieldError[]> {
  const lines = new LineCounter();
  const tokens = [...new Parser(lines.addNewLine).parse(text)];
  const fail = (faults: readonly TextFault[]) =>
    err(faults.slice(0, maxErrors).map((fault) => located(fault, lines.linePos(fault.offset))));

  // Before composing, which recurses.
  const deep = tooDeep(tokens, maxDepth);
  if (deep !== undefined) return fail([deep]);

  const composer = new Composer({ schema: 'core', version: '1.2', uniqueKeys: true, stringKeys: true, strict: true });
  const documents = [...composer.compose(tokens)];
  const faults = documents.flatMap(documentFaults);
  if (faults.length > 0) return fail(faults);

  const values: unknown[] = [];
  for (const document of documents) {
    const value = documentValue(document);
    if (!value.ok) return fail([value.error]);
    if (value.value === null) continue;
    values.push(value.value);
    if (values.length > maxDocuments) {
      return fail([{ offset: document.range[0], message: `more than ${maxDocuments} documents` }]);
    }
  }
  return ok(values);
}

function located(fault: TextFault, { line, col }: { readonly line: number; readonly col: number }): FieldError {
  return { pointer: '', message: `line ${line}, column ${col}: ${fault.message}` };
}

/** Warnings count too: an unknown tag, for one, would be dropped with no more than that. */
function documentFaults(document: Document.Parsed): readonly TextFault[] {
  return [...document.errors, ...document.warnings].map(({ pos, message }) => ({ offset: pos[0], message }));
}

function documentValue(document: Document.Parsed): Result<unknown, TextFault> {
  try {
    return ok(document.toJS({ maxAliasCount }));
  } catch (cause) {
    // The only thing that `toJS` throws on a document without errors.
    if (!(cause instanceof ReferenceError)) throw cause;
    return err({
      offset: document.range[0],
      message: `aliases (\`*name\`) stand for more than ${maxAliasCount} repetitions`,
    });
  }
}

/** The first place where collections are nested deeper than allowed, found without recursion. */
function tooDeep(tokens: readonly CST.Token[], maxDepth: number): TextFault | undefined {
  const pending: { readonly token: CST.Token; readonly depth: number }[] = tokens.map((token) => ({ token, depth: 0 }));
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { token } = next;
    const depth = CST.isCollection(token) ? next.depth + 1 : next.depth;
    if (depth > maxDepth) return { offset: token.offset, message: `nested deeper than ${maxDepth} levels` };
    for (const child of children(token)) pending.push({ token: child, depth });
  }
  return undefined;
}

function children(token: CST.Token): readonly CST.Token[] {
  if (token.type === 'document') return token.value === undefined ? [] : [token.value];
  if (!CST.isCollection(token)) return [];
  return token.items.flatMap(({ key, value }) => [key, value]).filter((child) => child !== null && child !== undefined);
}
