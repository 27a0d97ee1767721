import { describe, expect, it } from 'vitest';
import { type Bar, judge, type Row, toJson, toTable } from '../../../bench/report.ts';

const row: Row = { metric: 'lag', unit: 'ms', fairway: 20 };
const atMost = (limit: number): Bar => ({ of: 'value', kind: 'atMost', limit });
const ratioAtMost = (limit: number): Bar => ({ of: 'ratio', kind: 'atMost', limit });

describe('judge', () => {
  const cases: [name: string, row: Row, want: { ratio: number | null; bar: string | null; holds: boolean | null }][] = [
    ['no bar', row, { ratio: null, bar: null, holds: null }],
    ['within the limit', { ...row, bar: atMost(20) }, { ratio: null, bar: '≤ 20 ms', holds: true }],
    ['over the limit', { ...row, bar: atMost(19) }, { ratio: null, bar: '≤ 19 ms', holds: false }],
    [
      'at least',
      { ...row, bar: { of: 'value', kind: 'atLeast', limit: 21 } },
      { ratio: null, bar: '≥ 21 ms', holds: false },
    ],
    ['no number', { ...row, fairway: Number.NaN, bar: atMost(20) }, { ratio: null, bar: '≤ 20 ms', holds: false }],
    [
      'ratio to a peer',
      { ...row, peer: { name: 'etcd', value: 10 }, bar: ratioAtMost(1.9) },
      { ratio: 2, bar: 'ratio ≤ 1.9', holds: false },
    ],
    [
      'ratio to a missing peer',
      { ...row, peer: null, bar: ratioAtMost(2) },
      { ratio: null, bar: 'ratio ≤ 2', holds: null },
    ],
    [
      'one of two bars holds',
      { ...row, peer: { name: 'etcd', value: 1 }, bar: [ratioAtMost(2), atMost(50)] },
      { ratio: 20, bar: 'ratio ≤ 2 or ≤ 50 ms', holds: true },
    ],
    [
      'one bar fails and the other is unknown',
      { ...row, peer: null, bar: [ratioAtMost(2), atMost(5)] },
      { ratio: null, bar: 'ratio ≤ 2 or ≤ 5 ms', holds: null },
    ],
  ];
  it.each(cases)('%s', (_name, input, want) => {
    expect(judge(input)).toMatchObject(want);
  });
});

describe('report', () => {
  const judged = [
    judge({ ...row, peer: { name: 'etcd', value: 10 }, bar: atMost(5) }),
    judge({ ...row, metric: 'rss' }),
  ];

  it('has the keys that programs read', () => {
    const parsed = JSON.parse(toJson('apply', judged));
    expect(Object.keys(parsed)).toEqual(['bench', 'machine', 'rows']);
    expect(parsed.rows[0]).toEqual({
      metric: 'lag',
      unit: 'ms',
      fairway: 20,
      peer: 10,
      ratio: 2,
      bar: '≤ 5 ms',
      holds: false,
    });
    expect(parsed.rows[1]).toMatchObject({ peer: null, ratio: null, bar: null, holds: null });
  });

  it('lines up the columns of the table', () => {
    expect(toTable(judged, ['etcd', undefined])).toBe(
      [
        'metric  Fairway  peer       ratio  bar     ',
        'lag     20 ms    10 (etcd)  2      ≤ 5 ms  DOES NOT HOLD',
        'rss     20 ms',
      ]
        .map((line) => line.trimEnd())
        .join('\n'),
    );
  });
});
