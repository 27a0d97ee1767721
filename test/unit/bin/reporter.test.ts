import { describe, expect, it } from 'vitest';
import { summary } from '../../support/reporter.ts';

describe('the last words of a test run', () => {
  it('name what was skipped, minutes by project, and end with the count', () => {
    const text = summary({
      passed: 12,
      failed: 1,
      skipped: ['etcd > elects: etcd is missing'],
      projects: new Map([
        ['pure', { files: 2, tests: 10, ms: 30_000 }],
        ['peer', { files: 1, tests: 4, ms: 90_000 }],
      ]),
    });
    expect(text.split('\n')).toEqual([
      'skipped: etcd > elects: etcd is missing',
      'pure: 10 tests in 2 files, 0.5 min',
      'peer: 4 tests in 1 files, 1.5 min',
      '12 passed, 1 failed, 1 skipped',
      '',
    ]);
  });
});
