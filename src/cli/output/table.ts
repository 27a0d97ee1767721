import type { Paint, Tone } from './colour.ts';
import { oneLine, textWidth, truncate } from './text.ts';

/** A value of a table, with what it means. */
export interface Cell {
  readonly text: string;
  readonly tone?: Tone;
}

export interface Column<Row> {
  readonly title: string;
  cell(row: Row): Cell | string;
  /** Shown with `-o wide` only. */
  readonly wide?: true;
  /** Narrowest width to which the column may be cut when the table does not fit; absent: never cut. */
  readonly shrinkTo?: number;
}

export interface TableOptions {
  /** Width of the terminal; undefined: as wide as it gets. */
  readonly width: number | undefined;
  readonly wide?: boolean;
  readonly header?: boolean;
  readonly paint: Paint;
}

const gap = '  ';

/** Prints rows in turn, one line each, under one header. Columns never get narrower than they were. */
export interface TablePrinter<Row> {
  /** The lines of the rows, each with a line break; the first call begins with the header. */
  print(rows: readonly Row[]): string;
}

export function createTablePrinter<Row>(columns: readonly Column<Row>[], options: TableOptions): TablePrinter<Row> {
  const shown = columns.filter((column) => column.wide !== true || options.wide === true);
  const least = shown.map(({ shrinkTo }) => shrinkTo);
  const natural = shown.map(() => 0);
  let header = options.header !== false;
  return {
    print(rows) {
      const lines = rows.map((row) => shown.map((column) => toCell(column.cell(row))));
      if (header) lines.unshift(shown.map(({ title }): Cell => ({ text: title, tone: 'faint' })));
      header = false;
      for (const line of lines) {
        for (const [i, { text }] of line.entries()) natural[i] = Math.max(natural[i] ?? 0, textWidth(text));
      }
      const widths = fitWidths(natural, least, options.width);
      return lines.map((line) => `${renderLine(line, widths, options.paint)}\n`).join('');
    },
  };
}

export function renderTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[], options: TableOptions): string {
  return createTablePrinter(columns, options).print(rows);
}

function toCell(value: Cell | string): Cell {
  const cell = typeof value === 'string' ? { text: value } : value;
  return { ...cell, text: oneLine(cell.text) };
}

function renderLine(line: readonly Cell[], widths: readonly number[], paint: Paint): string {
  const parts = line.map((cell, i) => {
    const width = widths[i] ?? 0;
    const text = truncate(cell.text, width);
    // Nothing follows the last column: no blanks at the end of a line.
    const padding = i === line.length - 1 ? '' : ' '.repeat(Math.max(0, width - textWidth(text)));
    return (text === '' ? '' : paint(cell.tone ?? 'plain', text)) + padding;
  });
  return parts.join(gap).trimEnd();
}

/**
 * Widths with which the table fits into `available`, as far as the columns can be cut: the widest one that may still
 * be cut gives first, so that short values stay whole.
 */
export function fitWidths(
  natural: readonly number[],
  shrinkTo: readonly (number | undefined)[],
  available: number | undefined,
): number[] {
  const widths = [...natural];
  if (available === undefined) return widths;
  let excess = widths.reduce((sum, width) => sum + width, gap.length * (widths.length - 1)) - available;
  for (; excess > 0; excess--) {
    let widest: number | undefined;
    for (const [i, width] of widths.entries()) {
      const least = shrinkTo[i];
      if (least === undefined || width <= least) continue;
      if (widest === undefined || width > (widths[widest] ?? 0)) widest = i;
    }
    if (widest === undefined) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}
