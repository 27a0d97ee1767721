/**
 * The candidate that was probably meant by `word`, or undefined when none is near: equal but for upper and lower case,
 * or at most a third of its characters (and at least one) mistyped. The first of equally near ones wins.
 */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const wanted = word.toLowerCase();
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const allowed = Math.max(1, Math.floor(Math.max(wanted.length, candidate.length) / 3));
    // Longer words differ by more than is allowed; this also bounds the work on huge input.
    if (Math.abs(wanted.length - candidate.length) > allowed) continue;
    const distance = editDistance(wanted, candidate.toLowerCase());
    // A word of which every character would change is not a misspelling.
    if (distance <= allowed && distance < Math.max(wanted.length, candidate.length) && distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Insertions, deletions, replacements and swaps of neighbours (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let cost = Math.min(replaced, (last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, (beforeLast[j - 2] ?? 0) + 1);
      }
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
