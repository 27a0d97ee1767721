import { nearest } from '../lib/nearest.ts';
import { type FairwayObject, type Kind, kindInfo } from '../model/index.ts';
import type { Status } from './ports.ts';
import { invalidParameter } from './query.ts';

/**
 * Selection by fields: `metadata.name=shop,spec.fleet!=edge,status.conditions.Programmed=False`. All must hold. A
 * field that a spec leaves out has its default; a condition that an object does not have is `Unknown`.
 */
export interface FieldSelector {
  /** `status` is asked only when a term is about it, since it is computed. */
  matches(object: FairwayObject, status: () => Status): boolean;
  /** Whether what is selected depends on more than the object itself. */
  readonly usesStatus: boolean;
}

interface Term {
  readonly usesStatus: boolean;
  matches(object: FairwayObject, status: () => Status): boolean;
}

const parameter = 'fieldSelector';

/** A path that is longer is none, and an answer does not repeat it whole. */
const maxEchoed = 100;

/** Throws `InvalidParameter`; a field that the kind does not have is refused, not matched by nothing. */
export function parseFieldSelector(text: string, kind: Kind): FieldSelector {
  const terms = text.split(',').map((part, i) => parseTerm(part.trim(), i, kind));
  return {
    usesStatus: terms.some((term) => term.usesStatus),
    matches: (object, status) => terms.every((term) => term.matches(object, status)),
  };
}

function parseTerm(text: string, index: number, kind: Kind): Term {
  const parts = /^([A-Za-z0-9.]+)\s*(==|=|!=)\s*(.*)$/.exec(text);
  if (parts === null) {
    throw invalidParameter(parameter, `must be terms such as metadata.name=shop; number ${index + 1} is none`);
  }
  const [, path = '', operator, wanted = ''] = parts;
  const isEqual = operator !== '!=';
  const [root, ...rest] = path.split('.');
  if (root === 'status') return statusTerm(rest, wanted, isEqual, kind);
  const read = root === 'spec' ? specReader(rest, kind) : metadataReader(path, kind);
  return { usesStatus: false, matches: (object) => (read(object) === wanted) === isEqual };
}

function metadataReader(path: string, kind: Kind): (object: FairwayObject) => string | undefined {
  const { global } = kindInfo(kind);
  if (path === 'metadata.name') return ({ metadata }) => metadata.name;
  if (path === 'metadata.scope' && !global) return ({ metadata }) => metadata.scope;
  throw unknownField(path, kind, ['metadata.name', ...(global ? [] : ['metadata.scope']), 'status.conditions']);
}

function statusTerm(path: readonly string[], wanted: string, isEqual: boolean, kind: Kind): Term {
  const [first, type = '', ...rest] = path;
  const types = Object.keys(kindInfo(kind).reasons);
  if (first !== 'conditions' || rest.length > 0 || !types.includes(type)) {
    throw unknownField(
      ['status', ...path].join('.'),
      kind,
      types.map((name) => `status.conditions.${name}`),
    );
  }
  if (!['True', 'False', 'Unknown'].includes(wanted)) {
    throw invalidParameter(parameter, 'compares a condition with True, False or Unknown only');
  }
  const found = (status: Status) => status.conditions.find((condition) => condition.type === type)?.status ?? 'Unknown';
  return { usesStatus: true, matches: (_object, status) => (found(status()) === wanted) === isEqual };
}

/** The part of a kind's schema that is looked at. */
interface SchemaNode {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly writeOnly?: boolean;
}

/** Fields inside of lists have no one value, and write-only ones could be guessed: neither can be selected by. */
function specReader(path: readonly string[], kind: Kind): (object: FairwayObject) => string | undefined {
  let node: SchemaNode | undefined = kindInfo(kind).schema as SchemaNode;
  for (const [i, field] of path.entries()) {
    const properties: Readonly<Record<string, SchemaNode>> = node.properties ?? {};
    node = Object.hasOwn(properties, field) ? properties[field] : undefined;
    if (node === undefined) {
      const parent = ['spec', ...path.slice(0, i)].join('.');
      throw unknownField(
        ['spec', ...path].join('.'),
        kind,
        Object.keys(properties).map((name) => `${parent}.${name}`),
      );
    }
  }
  const isScalar = ['string', 'integer', 'number', 'boolean'].includes(node.type ?? '') || node.enum !== undefined;
  if (!isScalar || node.writeOnly === true) {
    throw invalidParameter(
      parameter,
      `cannot select by ${['spec', ...path].join('.')}: it is no single value that is shown`,
    );
  }
  const fallback = node.default;
  return (object) => {
    let value: unknown = object.spec;
    for (const field of path) value = (value as Readonly<Record<string, unknown>> | undefined)?.[field];
    const effective = value ?? fallback;
    return effective === undefined ? undefined : String(effective);
  };
}

function unknownField(path: string, kind: Kind, known: readonly string[]) {
  const near = nearest(path, known);
  const hint = near === undefined ? `fields are ${known.join(', ')}` : `did you mean \`${near}\`?`;
  return invalidParameter(parameter, `names ${path.slice(0, maxEchoed)}, which a ${kind} does not have; ${hint}`);
}
