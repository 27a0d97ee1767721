import { describe, expect, it } from 'vitest';
import type { Paint } from '../../../src/cli/output/colour.ts';
import { type Column, createTablePrinter, fitWidths, renderTable } from '../../../src/cli/output/table.ts';

const plain: Paint = (_tone, text) => text;
const marked: Paint = (tone, text) => (tone === 'plain' ? text : `<${tone}>${text}</>`);

interface Row {
  readonly name: string;
  readonly hosts: string;
}

const columns: readonly Column<Row>[] = [
  { title: 'NAME', cell: ({ name }) => name },
  { title: 'HOSTS', shrinkTo: 6, cell: ({ hosts }) => hosts },
  { title: 'EXTRA', wide: true, cell: () => 'x' },
];

const rows: readonly Row[] = [
  { name: 'shop', hosts: 'a.example,b.example,c.example' },
  { name: 'longer-name', hosts: '' },
];

describe('renderTable', () => {
  it('aligns columns and leaves no blanks at the ends of lines', () => {
    expect(renderTable(columns, rows, { width: undefined, paint: plain })).toBe(
      ['NAME         HOSTS', 'shop         a.example,b.example,c.example', 'longer-name', ''].join('\n'),
    );
  });

  it('shows wide columns when asked', () => {
    const [header] = renderTable(columns, rows, { width: undefined, wide: true, paint: plain }).split('\n');
    expect(header?.split(/\s+/)).toEqual(['NAME', 'HOSTS', 'EXTRA']);
  });

  it('cuts what may be cut to the width of the terminal, and nothing else', () => {
    const lines = renderTable(columns, rows, { width: 24, paint: plain }).split('\n');
    expect(lines).toEqual(['NAME         HOSTS', 'shop         a.example,…', 'longer-name', '']);
    expect(renderTable(columns, rows, { width: 5, paint: plain })).toContain('longer-name');
  });

  it('counts cells and not characters or colours', () => {
    const wide: readonly Row[] = [
      { name: '日本', hosts: 'x' },
      { name: 'abcd', hosts: 'y' },
    ];
    expect(renderTable(columns, wide, { width: undefined, header: false, paint: plain })).toBe('日本  x\nabcd  y\n');
    expect(renderTable(columns, wide, { width: undefined, paint: marked })).toContain(
      '<faint>NAME</>  <faint>HOSTS</>',
    );
  });

  it('keeps what others wrote on one line and away from the terminal', () => {
    const evil: readonly Row[] = [{ name: 'a\nb', hosts: '\u001b[31mred\u001b[0m\u0007' }];
    expect(renderTable(columns, evil, { width: undefined, header: false, paint: plain })).toBe('a b  red\n');
  });
});

describe('createTablePrinter', () => {
  it('prints the header once and keeps columns where they were', () => {
    const printer = createTablePrinter(columns, { width: undefined, paint: plain });
    printer.print(rows);
    expect(printer.print([{ name: 'x', hosts: 'y' }])).toBe('x            y\n');
  });
});

describe('fitWidths', () => {
  const cases: readonly [
    name: string,
    natural: readonly number[],
    shrinkTo: readonly (number | undefined)[],
    available: number | undefined,
    want: readonly number[],
  ][] = [
    ['leaves alone what fits', [4, 10], [undefined, 5], 16, [4, 10]],
    ['leaves alone where there is no limit', [4, 1000], [undefined, 5], undefined, [4, 1000]],
    ['cuts the widest', [4, 30, 10], [undefined, 5, 5], 38, [4, 20, 10]],
    ['cuts equally wide ones evenly', [20, 20], [5, 5], 32, [15, 15]],
    ['stops at the least width', [4, 30], [undefined, 8], 5, [4, 8]],
  ];
  it.each(cases)('%s', (_name, natural, shrinkTo, available, want) => {
    expect(fitWidths(natural, shrinkTo, available)).toEqual(want);
  });
});
