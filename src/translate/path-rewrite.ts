import type { PathMatch, Rewrite } from '../model/index.ts';

/** How the path is changed, in Envoy's terms. */
export type PathRewrite =
  | { readonly prefixRewrite: string }
  | { readonly regexRewrite: { readonly pattern: { readonly regex: string }; readonly substitution: string } };

/**
 * Replaces the prefix that was matched, by whole segments: never two slashes in a row at the seam and never two
 * segments glued together, whichever of the two ends in a slash. `/api` to `/` makes `/x` of `/api/x`.
 */
export function prefixRewrite(path: PathMatch | undefined, replacement: string): PathRewrite {
  const matched = path?.prefix ?? '/';
  if (matched.endsWith('/')) return { prefixRewrite: replacement.endsWith('/') ? replacement : `${replacement}/` };
  if (!replacement.endsWith('/')) return { prefixRewrite: replacement };
  // Envoy would keep the slash that follows the prefix as well.
  return {
    regexRewrite: { pattern: { regex: `^${quoteRegex(matched)}/?` }, substitution: quoteSubstitution(replacement) },
  };
}

/** The rewriting that an action asks for, if any. */
export function pathRewrite(path: PathMatch | undefined, rewrite: Rewrite | undefined): PathRewrite | undefined {
  if (rewrite?.prefix !== undefined) return prefixRewrite(path, rewrite.prefix);
  if (rewrite?.path !== undefined) {
    return { regexRewrite: { pattern: { regex: '^.*$' }, substitution: quoteSubstitution(rewrite.path) } };
  }
  if (rewrite?.regex === undefined) return undefined;
  return { regexRewrite: { pattern: { regex: rewrite.regex.pattern }, substitution: rewrite.regex.substitution } };
}

/** The text as an RE2 expression that matches it and nothing else. */
function quoteRegex(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

/** The text as a substitution that stands for itself: only the backslash means something there. */
function quoteSubstitution(text: string): string {
  return text.replaceAll('\\', '\\\\');
}
