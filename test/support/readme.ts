import { readFileSync } from 'node:fs';

/** The README as tests read it: sections, tables and fenced blocks. */

export const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

export interface Block {
  /** All that stands behind the opening fence: `sh tour`, `yaml`. */
  readonly info: string;
  readonly text: string;
  /** Counted from 1, of the opening fence. */
  readonly line: number;
}

/** The fenced blocks of a text, in order. */
export function blocksOf(markdown: string): Block[] {
  const blocks: Block[] = [];
  let open: { info: string; line: number; lines: string[] } | undefined;
  for (const [i, line] of markdown.split('\n').entries()) {
    const fence = /^```(.*)$/.exec(line);
    if (open === undefined && fence !== null) open = { info: String(fence[1]).trim(), line: i + 1, lines: [] };
    else if (open !== undefined && fence?.[1] === '') {
      blocks.push({ info: open.info, line: open.line, text: open.lines.map((text) => `${text}\n`).join('') });
      open = undefined;
    } else open?.lines.push(line);
  }
  if (open !== undefined) throw new Error(`the block that begins in line ${open.line} does not end`);
  return blocks;
}

/** The text under a heading of any level, up to the next one of the same or a higher level. */
export function sectionOf(heading: string): string {
  const lines = readme.split('\n');
  const start = lines.findIndex((line) => /^#+ /.test(line) && line.replace(/^#+ /, '') === heading);
  if (start < 0) throw new Error(`the README has no section "${heading}"`);
  const level = /^#+/.exec(lines[start] as string)?.[0].length ?? 0;
  const rest = lines.slice(start + 1);
  const end = rest.findIndex((line) => new RegExp(`^#{1,${level}} `).test(line));
  return rest.slice(0, end < 0 ? rest.length : end).join('\n');
}

/** Rows of the table in a text whose first title is given, without titles; code marks are left out. */
export function tableOf(markdown: string, firstTitle: string): string[][] {
  const lines = markdown.split('\n');
  const start = lines.findIndex((line) => line.startsWith(`| ${firstTitle} |`));
  if (start < 0) throw new Error(`there is no table with "${firstTitle}" first`);
  const rest = lines.slice(start + 2);
  const end = rest.findIndex((line) => !line.startsWith('|'));
  return rest.slice(0, end < 0 ? rest.length : end).map((row) =>
    row
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim().replaceAll('`', '')),
  );
}
