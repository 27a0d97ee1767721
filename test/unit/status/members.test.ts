import { expect, test } from 'vitest';
import { memberStatus } from '../../../src/status/members.ts';

const until = '2026-01-01T00:01:00Z';

test('members stand in the order written, with those that have left behind them', () => {
  const spec = {
    members: [
      { address: '10.0.0.1', port: 80 },
      { address: '10.0.0.2', port: 80, drain: true },
      { address: '10.0.0.3', port: 80, enabled: false },
      { address: '10.0.0.4', port: 80, enabled: false },
    ],
  };
  const leaving = (last: number) => ({ address: `10.0.0.${last}`, port: 80, until });
  expect(memberStatus(spec, [leaving(4), leaving(5), { ...leaving(6), until: undefined }])).toEqual([
    { address: '10.0.0.1', port: 80, state: 'Unknown' },
    { address: '10.0.0.2', port: 80, state: 'Draining' },
    { address: '10.0.0.3', port: 80, state: 'Disabled' },
    { address: '10.0.0.4', port: 80, state: 'Draining', until },
    { address: '10.0.0.5', port: 80, state: 'Draining', until },
    { address: '10.0.0.6', port: 80, state: 'Draining' },
  ]);
});
