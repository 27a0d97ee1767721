import { type Document, isCollection, isMap, isScalar, LineCounter, type Node, parseAllDocuments } from 'yaml';

/**
 * The line, counted from 1, at which the value that a JSON pointer names stands in a manifest, or that of the nearest
 * value around it (a missing field stands nowhere). Undefined when the text has no such document. JSON is read too: to
 * find a line it is YAML enough.
 *
 * The text is read anew, because positions are needed only when something is wrong.
 *
 * @param document among those that are not empty
 */
export function lineOf(text: string, document: number, pointer: string): number | undefined {
  const counter = new LineCounter();
  const parsed = parseAllDocuments(text, { lineCounter: counter, uniqueKeys: false, logLevel: 'silent' });
  const documents = (Array.isArray(parsed) ? parsed : []) as Document.Parsed[];
  const wanted = documents.filter(({ contents }) => contents !== null && !isNull(contents))[document];
  if (wanted?.contents === undefined || wanted.contents === null) return undefined;
  const segments = pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
  return counter.linePos(offsetOf(wanted.contents, segments)).line;
}

const isNull = (node: Node): boolean => isScalar(node) && node.value === null;

/** Where the value begins; of a field of a map, where its name stands, since that is what people look for. */
function offsetOf(root: Node, segments: readonly string[]): number {
  let offset = root.range?.[0] ?? 0;
  let node: unknown = root;
  for (const segment of segments) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === segment);
      if (pair === undefined) break;
      offset = (pair.key as Node).range?.[0] ?? offset;
      node = pair.value;
    } else if (isCollection(node)) {
      const item: unknown = node.items[Number(segment)];
      if (item === undefined) break;
      offset = (item as Node).range?.[0] ?? offset;
      node = item;
    } else {
      break;
    }
  }
  return offset;
}
