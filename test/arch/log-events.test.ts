import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseSync, Visitor } from 'oxc-parser';
import { expect, it } from 'vitest';
import { eventNames } from '../../src/telemetry/event-names.ts';

// Log lines are one to an event, each with a constant name of the table; and the table has no name that nobody uses.

const levels = new Set(['trace', 'debug', 'info', 'warn', 'error', 'fatal']);

interface Line {
  readonly at: string;
  /** More than one where the line chooses between constants; none where it has no name, or a computed one. */
  readonly names: readonly string[];
}

/** All calls of a logger: `log.info(…)`, `options.log?.warn(…)`, `request.log.error(…)`. */
function linesOf(path: string, text: string): Line[] {
  const lines: Line[] = [];
  new Visitor({
    CallExpression({ callee, arguments: given, start }) {
      if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return;
      if (!levels.has(callee.property.name) || !isLogger(callee.object)) return;
      const [facts] = given;
      const event =
        facts?.type === 'ObjectExpression'
          ? facts.properties.find(
              (one) => one.type === 'Property' && one.key.type === 'Identifier' && one.key.name === 'event',
            )
          : undefined;
      const names = event?.type === 'Property' ? constantsOf(event.value) : [];
      lines.push({ at: `${path}:${text.slice(0, start).split('\n').length}`, names });
    },
  }).visit(parseSync(path, text).program);
  return lines;
}

interface Expression {
  readonly type: string;
}

function isLogger(node: Expression): boolean {
  if (node.type === 'Identifier') return 'name' in node && node.name === 'log';
  return node.type === 'MemberExpression' && 'property' in node && isLogger(node.property as Expression);
}

function constantsOf(node: Expression): readonly string[] {
  if (node.type === 'Literal' && 'value' in node && typeof node.value === 'string') return [node.value];
  if (node.type !== 'ConditionalExpression' || !('consequent' in node) || !('alternate' in node)) return [];
  return [...constantsOf(node.consequent as Expression), ...constantsOf(node.alternate as Expression)];
}

const root = fileURLToPath(new URL('../../src/', import.meta.url));
const lines = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts') && !path.startsWith('gen/'))
  .flatMap((path) => linesOf(path, readFileSync(`${root}${path}`, 'utf8')));

it('finds lines, and those without a constant name', () => {
  const text =
    "log.info({ event: a ? 'b' : 'c' }); options.log?.warn('x'); request.log.error({ event: d }); math.log.x();";
  expect(linesOf('x.ts', text).map(({ names }) => names)).toEqual([['b', 'c'], [], []]);
  expect(lines.length).toBeGreaterThan(20);
});

it('every log line has a name', () => {
  expect(lines.filter(({ names }) => names.length === 0).map(({ at }) => at)).toEqual([]);
});

it('the names are those of the table', () => {
  const used = new Set(lines.flatMap(({ names }) => names));
  // Given by the logger itself.
  used.add('library_note');
  expect([...used].toSorted()).toEqual(Object.keys(eventNames).toSorted());
});

it('the names are of one style', () => {
  expect(Object.keys(eventNames).filter((name) => !/^[a-z]+(_[a-z]+)*$/.test(name))).toEqual([]);
});
