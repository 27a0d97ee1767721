import { Composer, CST, type Document, isAlias, isCollection, isPair, Lexer, type ParsedNode, Parser } from 'yaml';
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
 * blocks are convenient, exponential ones are an attack. Counted in values that aliases add to one document.
 */
const maxAliasedValues = 1000;

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
  return err([located(value.error, text)]);
}

function parseYaml(
  text: string,
  maxDepth: number,
  maxDocuments: number,
): Result<readonly unknown[], readonly FieldError[]> {
  const fail = (faults: readonly TextFault[]) => err(faults.slice(0, maxErrors).map((fault) => located(fault, text)));

  const tokens = readTokens(text, maxDepth);
  if (!tokens.ok) return fail([tokens.error]);

  const composer = new Composer({
    schema: 'core',
    version: '1.2',
    uniqueKeys: true,
    stringKeys: true,
    strict: true,
    resolveKnownTags: false,
  });
  const documents = [...composer.compose(tokens.value)];
  const faults = documents.flatMap(documentFaults);
  if (faults.length > 0) return fail(faults);

  const values: unknown[] = [];
  for (const document of documents) {
    const aliases = aliasFault(document, maxDepth);
    if (aliases !== undefined) return fail([aliases]);
    const value: unknown = document.toJS({ maxAliasCount: -1 });
    if (value === null) continue;
    values.push(value);
    if (values.length > maxDocuments) {
      return fail([{ offset: document.range[0], message: `more than ${maxDocuments} documents` }]);
    }
  }
  return ok(values);
}

/** Counted in the text itself: the YAML parser forgets lines of what it could not read. */
function located({ offset, message }: TextFault, text: string): FieldError {
  const lines = text.slice(0, offset).split('\n');
  return { pointer: '', message: `line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}: ${message}` };
}

/** Warnings count too: an unknown tag, for one, would be dropped with no more than that. */
function documentFaults(document: Document.Parsed): readonly TextFault[] {
  return [...document.errors, ...document.warnings].map(({ pos, message }) => ({ offset: pos[0], message }));
}

/** What a node becomes when aliases are replaced by what they stand for. */
interface Extent {
  readonly values: number;
  readonly depth: number;
}

/** An alias that stands for nothing, for something around itself, or for too much. */
function aliasFault(document: Document.Parsed, maxDepth: number): TextFault | undefined {
  /** Filled in the order of the text, so an anchor that is open or unknown is not in it yet. */
  const anchors = new Map<string, Extent>();
  let aliased = 0;
  let fault: TextFault | undefined;

  const extentOf = (node: ParsedNode | null): Extent => {
    if (node === null) return { values: 1, depth: 0 };
    if (isAlias(node)) {
      const target = anchors.get(node.source);
      aliased += target?.values ?? 0;
      if (target === undefined) fault ??= aliasError(node, 'stands for nothing that is complete before it');
      else if (aliased > maxAliasedValues)
        fault ??= aliasError(node, `is one too many: aliases add more than ${maxAliasedValues} values`);
      return target ?? { values: 1, depth: 0 };
    }
    const children = isCollection(node)
      ? node.items
          .flatMap((item) => (isPair(item) ? [item.key, item.value] : [item]))
          .map((child) => extentOf(child as ParsedNode | null))
      : [];
    const extent = {
      values: children.reduce((sum, child) => sum + child.values, 1),
      depth: isCollection(node) ? 1 + Math.max(0, ...children.map((child) => child.depth)) : 0,
    };
    if (extent.depth > maxDepth) fault ??= { offset: node.range[0], message: `nested deeper than ${maxDepth} levels` };
    if (node.anchor !== undefined) anchors.set(node.anchor, extent);
    return extent;
  };
  extentOf(document.contents);
  return fault;
}

function aliasError(
  alias: { readonly source: string; readonly range?: readonly number[] | null | undefined },
  message: string,
): TextFault {
  return { offset: alias.range?.[0] ?? 0, message: `the alias \`*${alias.source}\` ${message}` };
}

/**
 * The tokens of a text whose collections are nested no deeper than allowed. Looked at while reading, because the parser
 * gets slow in deep places, and before composing, which recurses.
 */
function readTokens(text: string, maxDepth: number): Result<readonly CST.Token[], TextFault> {
  const parser = new Parser();
  const tokens: CST.Token[] = [];
  const tooDeep = (offset: number) => err({ offset, message: `nested deeper than ${maxDepth} levels` });
  for (const lexeme of new Lexer().lex(text)) {
    tokens.push(...parser.next(lexeme));
    const { stack } = parser;
    // The stack holds the open collections and at most a document and two scalars beside them.
    if (stack.length > maxDepth && stack.filter(CST.isCollection).length > maxDepth) {
      return tooDeep(stack.findLast(CST.isCollection)?.offset ?? 0);
    }
  }
  tokens.push(...parser.end());
  return ok(tokens);
}
