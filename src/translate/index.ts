/**
 * translate: from the graph to Envoy's messages.
 *
 * The graph has decided everything an operator could argue about; here each row is rendered as the resource that says
 * it to Envoy, one Envoy concept per file, by pure constructors of generated messages. Everything is a derivation on the
 * kernel, declared once, one collection per xDS type whose key is the resource's name; there is no state besides the
 * shapes of messages (shaped.ts). Equal objects give equal bytes on every controller, since versions are hashes of them.
 *
 * Composites (a route table, an assignment) are joined from fragments that were encoded before, because encoding a
 * table of 3,000 hosts anew takes longer than everything else that one changed route costs.
 */
export { describeResource } from './describe.ts';
export { type Drains, drains } from './drain.ts';
export type { RawPatch } from './encode.ts';
export { type LintProblem, lint } from './lint.ts';
export { listenerName as listenerNameOf } from './names.ts';
export { rank as rankOf } from './precedence.ts';
export { parseResourceKey, resourceKey } from './resources-of.ts';
export {
  type AudienceRow,
  declareTranslation,
  type Translation,
  type TranslationOptions,
  type TranslationSource,
} from './translation.ts';
