/**
 * What a bench found: rows of figures, each with an optional peer measured in the same run and an optional bar that it
 * has to keep. Printed as a table for people and as one line of JSON for programs.
 */
import { arch, cpus, platform, totalmem } from 'node:os';

/** One bar: a limit on the figure itself, or on its ratio to the peer's. */
export interface Bar {
  readonly of: 'value' | 'ratio';
  readonly kind: 'atMost' | 'atLeast';
  readonly limit: number;
}

/** The usual bar: so many times the peer's figure at most. */
export function atMost(limit: number, of: Bar['of'] = 'ratio'): Bar {
  return { of, kind: 'atMost', limit };
}

/** One figure as a scenario gives it. */
export interface Row {
  readonly metric: string;
  readonly unit: string;
  readonly fairway: number;
  /** The same figure of another program, measured in the same run; null where it could not be had. */
  readonly peer?: { readonly name: string; readonly value: number } | null | undefined;
  /** What the figure has to keep. Several bars: one of them suffices. */
  readonly bar?: Bar | readonly Bar[] | undefined;
}

/** A file of bench/scenarios/: its name is the bench's. */
export interface Scenario {
  /** One line for the list. */
  readonly title: string;
  run(): Promise<readonly Row[]>;
}

/** A row as the line of JSON has it. */
export interface JudgedRow {
  readonly metric: string;
  readonly unit: string;
  readonly fairway: number;
  readonly peer: number | null;
  /** fairway / peer, to three digits. */
  readonly ratio: number | null;
  readonly bar: string | null;
  /** Null where there is no bar, or where the bar is on a ratio and the peer is missing. */
  readonly holds: boolean | null;
}

export function judge(row: Row): JudgedRow {
  const peer = row.peer?.value ?? null;
  const ratio = peer === null || peer === 0 ? null : round(row.fairway / peer);
  const bars = [row.bar ?? []].flat();
  const verdicts = bars.map((bar) => keeps(bar, bar.of === 'value' ? row.fairway : ratio));
  const known = verdicts.filter((verdict) => verdict !== null);
  const holds = known.length === 0 ? null : known.includes(true) ? true : verdicts.includes(null) ? null : false;
  const { metric, unit, fairway } = row;
  return {
    metric,
    unit,
    fairway,
    peer,
    ratio,
    bar: bars.length === 0 ? null : bars.map(describe(unit)).join(' or '),
    holds,
  };
}

function keeps(bar: Bar, figure: number | null): boolean | null {
  if (figure === null) return null;
  // Written so that a figure which is no number (a division by nothing) does not hold.
  return bar.kind === 'atMost' ? figure <= bar.limit : figure >= bar.limit;
}

function describe(unit: string): (bar: Bar) => string {
  return ({ of, kind, limit }) =>
    `${of === 'ratio' ? 'ratio ' : ''}${kind === 'atMost' ? '≤' : '≥'} ${limit}${of === 'value' ? ` ${unit}` : ''}`;
}

/** Three digits that mean something. */
function round(figure: number): number {
  return Number(figure.toPrecision(3));
}

/** The line of JSON. */
export function toJson(bench: string, rows: readonly JudgedRow[]): string {
  return JSON.stringify({ bench, machine: machine(), rows });
}

/** Figures of one machine cannot be held against those of another. */
function machine(): string {
  const model = cpus()[0]?.model.trim() ?? 'unknown processor';
  const memoryGiB = Math.round(totalmem() / 2 ** 30);
  return `${platform()} ${arch()}, ${cpus().length} × ${model}, ${memoryGiB} GiB, Node ${process.versions.node}`;
}

/** The table for people. */
export function toTable(rows: readonly JudgedRow[], peers: readonly (string | undefined)[]): string {
  const verdict = (holds: boolean | null) => (holds === null ? '' : holds ? 'holds' : 'DOES NOT HOLD');
  const cells = rows.map((row, index) => [
    row.metric,
    `${round(row.fairway)} ${row.unit}`,
    row.peer === null ? (peers[index] === undefined ? '' : 'missing') : `${round(row.peer)} (${peers[index]})`,
    row.ratio === null ? '' : String(row.ratio),
    row.bar ?? '',
    verdict(row.holds),
  ]);
  const all = [['metric', 'Fairway', 'peer', 'ratio', 'bar', ''], ...cells];
  const widths = all[0]?.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0))) ?? [];
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
