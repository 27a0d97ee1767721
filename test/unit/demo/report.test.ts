import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { createReport, StepError } from '../../../src/demo/report.ts';

/** Takes the cursor to the start of its line and clears the line. */
const clearLine = '\r\x1b[K';

function recorder(isTTY: boolean) {
  let text = '';
  const told = new AbortController();
  const out = {
    isTTY,
    write(part: string) {
      text += part;
    },
  };
  return { report: createReport(out, told.signal), told, text: () => text.replaceAll(/\d+\.\d s/g, '0.0 s') };
}

const failing = async () => {
  throw new Error('no such thing');
};

describe('a report off a terminal', () => {
  it('says a step when it is done, without any control character', async () => {
    const { report, text } = recorder(false);
    report.heading('First');
    const value = await report.step('Server', async (progress) => {
      progress('half way');
      return { say: 'ready', value: 7 };
    });
    expect(value).toBe(7);
    expect(text()).toBe('\nFirst\n  ✓ Server: ready (0.0 s)\n');
  });

  it('names the step that failed', async () => {
    const { report, text } = recorder(false);
    await expect(report.step('Server', failing)).rejects.toThrow(new StepError('Server', new Error('no such thing')));
    expect(text()).toBe('  ✗ Server: failed (0.0 s)\n');
  });

  it('does not call a step failed that was broken off', async () => {
    const { report, told, text } = recorder(false);
    told.abort();
    await expect(report.step('Server', failing)).rejects.toThrow();
    expect(text()).toBe('  ✗ Server: broken off (0.0 s)\n');
  });

  it('aligns tables', () => {
    const { report, text } = recorder(false);
    report.table(
      ['A', 'LONG'],
      [
        ['longer', 'x'],
        ['y', ''],
      ],
    );
    expect(text()).toBe('\n  A       LONG\n  longer  x\n  y\n');
  });
});

describe('a report on a terminal', () => {
  it('draws a step while it runs, over and over on one line', async () => {
    const { report, text } = recorder(true);
    await report.step('Server', async (progress) => {
      progress('half way');
      while (!text().includes('half way')) await new Promise((resolve) => setTimeout(resolve, 5));
      return { say: 'ready', value: undefined };
    });
    expect(text()).toContain(`${clearLine}  ⠋ Server: half way `);
    expect(stripVTControlCharacters(text())).toMatch(/✓ Server: ready \(0\.0 s\)\n$/);
    expect(text().split('\n')).toHaveLength(2);
  });
});
