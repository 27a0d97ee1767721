import type { Age } from '../graph/index.ts';
import type { Match } from '../model/index.ts';

/**
 * Which rule takes a request that several match, in one place. Envoy takes the first route of a virtual host, so rules
 * are put in this total order, whatever order they were written in and whichever objects they come from:
 *
 * 1. path: exact, then regex, then prefix, and a longer prefix before a shorter one (no path is the prefix `/`);
 * 2. with methods before without;
 * 3. more headers before fewer;
 * 4. more query parameters before fewer;
 * 5. the older object, by the revision of its creation, then by its key;
 * 6. the name of the rule;
 * 7. only between inline entries of one service, or matches of one rule: the order in which they were written.
 */
export interface Ranked {
  readonly age: Age;
  readonly ruleName: string;
  /** Key of the rule set; of inline entries it ends in the entry's number. */
  readonly setKey: string;
  /** Place of the match in its rule. */
  readonly matchIndex: number;
}

/** A text for a match: the one with the smaller text, by code units, comes first. */
export function rank(match: Match, { age, ruleName, setKey, matchIndex }: Ranked): string {
  return [
    pathRank(match.path),
    match.methods === undefined ? '1' : '0',
    fewerLast(match.headers),
    fewerLast(match.query),
    digits(age.createdRevision, 16),
    age.key,
    ruleName,
    setKey.replace(/\d+$/, (entry) => entry.padStart(3, '0')),
    digits(matchIndex, 2),
    // Below every character of a name, so that a name comes before those that begin with it.
  ].join('\0');
}

/** The order of ranks: by code units. */
export function compareRank(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function pathRank(path: Match['path']): string {
  if (path?.exact !== undefined) return '0';
  if (path?.regex !== undefined) return '1';
  return `2${digits(9999 - (path?.prefix ?? '/').length, 4)}`;
}

function fewerLast(items: readonly unknown[] = []): string {
  return digits(99 - items.length, 2);
}

function digits(value: number, width: number): string {
  return String(value).padStart(width, '0');
}
