import { describe, expect, it } from 'vitest';
import { createProgress } from '../../../src/bin/setup/progress.js';

function recorder(isTTY: boolean) {
  const written: string[] = [];
  return { isTTY, write: (text: string) => written.push(text), text: () => written.join('') };
}

describe('progress of the set-up', () => {
  it('is plain lines where there is no terminal', async () => {
    const out = recorder(false);
    const progress = createProgress(out);
    await progress.step('envoy', async (update) => {
      update('downloading');
      return 'Envoy 1.40.0';
    });
    progress.close();
    expect(out.text()).toBe('setup: envoy: downloading …\nsetup: Envoy 1.40.0, ready after 0 s\n');
  });

  it('is one line for all that was there already', async () => {
    const out = recorder(true);
    const progress = createProgress(out);
    await progress.step('packages', async () => 'npm packages');
    await progress.step('envoy', async () => 'Envoy 1.40.0');
    progress.close();
    expect(out.text()).toBe('setup: already there: npm packages, Envoy 1.40.0\n');
  });

  it('leaves a clean line on a terminal when a step fails', async () => {
    const out = recorder(true);
    const step = createProgress(out).step('envoy', async (update) => {
      update('downloading');
      throw new Error('no network');
    });
    await expect(step).rejects.toThrow('no network');
    expect(out.text()).toBe('\r\x1b[K✗ envoy\n');
  });
});
