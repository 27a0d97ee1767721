/** Reads what a source file imports: statically, for types only, by re-export, by `import()` and by `import('…').T`. */
import { parseSync, Visitor } from 'oxc-parser';

export interface Import {
  /** Undefined when it is computed at run time. */
  readonly specifier: string | undefined;
  /** `lazy` is `import()`. */
  readonly kind: 'static' | 'lazy';
  /** Names taken from the other module; empty for a side effect, `*` for all. */
  readonly names: readonly string[];
  readonly line: number;
}

export interface Source {
  readonly imports: readonly Import[];
  /** The comment that the file begins with; empty when it begins with anything else. */
  readonly header: string;
}

/** Parses one file. Throws when it is not valid TypeScript or JavaScript. */
export function readSource(path: string, text: string): Source {
  const { program, comments, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path} cannot be parsed: ${errors[0]?.message}`);
  const imports: Import[] = [];
  const add = (kind: Import['kind'], node: { start: number }, specifier: string | undefined, names: string[]) => {
    imports.push({ kind, specifier, names, line: text.slice(0, node.start).split('\n').length });
  };
  new Visitor({
    ImportDeclaration(node) {
      const names = node.specifiers.map((one) =>
        one.type === 'ImportSpecifier' && one.imported.type === 'Identifier' ? one.imported.name : '*',
      );
      add('static', node, node.source.value, names);
    },
    ExportNamedDeclaration(node) {
      if (node.source !== null) add('static', node, node.source.value, ['*']);
    },
    ExportAllDeclaration(node) {
      add('static', node, node.source.value, ['*']);
    },
    TSImportType(node) {
      add('static', node, node.source.value, ['*']);
    },
    ImportExpression(node) {
      const { source } = node;
      const specifier = source.type === 'Literal' && typeof source.value === 'string' ? source.value : undefined;
      add('lazy', node, specifier, ['*']);
    },
  }).visit(program);
  const first = comments[0];
  const header = first?.type === 'Block' && text.slice(0, first.start).trim() === '' ? first.value : '';
  return { imports, header };
}
