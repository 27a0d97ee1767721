/**
 * Most of what proxies are told differs from one service to the next in a few names only. So a message is described
 * as a function of its *shape* (all that is not a name: few different ones) and of its *names* (many different ones).
 * What a shape is encoded as is kept with holes where the names stand, and from then on names are filled in: the same
 * bytes as encoding the message anew, for a tenth of the time.
 */
import type { DescMessage, MessageShape } from '@bufbuild/protobuf';
import type { BinaryWriter } from '@bufbuild/protobuf/wire';
import { encode } from './encode.ts';
import { createFragmentCache } from './fragment-cache.ts';
import { createTemplate, hole, holeMark, type Template } from './template.ts';

/** Texts that stand in a message each as the whole value of a field; never empty where the field may be left out. */
export type Names = string | undefined | readonly Names[] | object;

/** A message that is written by its shape and names. */
export type Shaped<Shape, N> = (to: BinaryWriter, shape: Shape, names: N) => void;

/** Shapes of one message that are kept. */
const keptShapes = 1024;

interface Known {
  template: Template | undefined;
}

/**
 * `build` makes the message; it must see nothing but its arguments, and must not look at the names: they may be holes.
 * The shape must be plain JSON.
 */
export function shaped<D extends DescMessage, Shape, N extends Names>(
  schema: D,
  build: (shape: Shape, names: N) => MessageShape<D>,
): Shaped<Shape, N> {
  const shapes = createFragmentCache<Known>(keptShapes);
  return (to, shape, names) => {
    const values: string[] = [];
    const key = `${flatten(names, values)} ${JSON.stringify(shape)}`;
    let isNew = false;
    const known = shapes.get(key, () => {
      isNew = true;
      return { template: undefined };
    });
    // Many shapes come once and never again: it is the second time that pays for a template.
    if (isNew || key.includes(holeMark)) {
      to.raw(encode(schema, build(shape, names)));
      return;
    }
    known.template ??= createTemplate(encode(schema, build(shape, holesFor(names, { next: 0 }) as N)));
    known.template(to, values);
  };
}

/** Puts all names into one list; gives what else there is to know of how they stand: lengths, and what is absent. */
function flatten(names: Names, values: string[]): string {
  if (names === undefined) return '-';
  if (typeof names === 'string') {
    values.push(names);
    return '';
  }
  if (isList(names)) return names.reduce<string>((form, name) => form + flatten(name, values), `${names.length}:`);
  let form = '';
  for (const inner of Object.values(names)) form += flatten(inner, values);
  return form;
}

/** The same with a hole for each name, numbered as in that list. */
function holesFor(names: Names, count: { next: number }): Names {
  if (names === undefined) return undefined;
  if (typeof names === 'string') {
    count.next += 1;
    return hole(count.next - 1);
  }
  if (isList(names)) return names.map((name) => holesFor(name, count));
  return Object.fromEntries(Object.entries(names).map(([name, inner]) => [name, holesFor(inner, count)]));
}

function isList(names: Names): names is readonly Names[] {
  return Array.isArray(names);
}
