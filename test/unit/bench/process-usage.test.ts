import { expect, test } from 'vitest';
import { bytesIn, usageOf } from '../../support/process-usage.ts';

test('memory is told in bytes, of what Linux calls kB and counts in 1,024 bytes', () => {
  const status = 'Name:\tnode\nVmHWM:\t  240000 kB\nVmRSS:\t  200000 kB\n';
  expect(bytesIn(status, 'VmRSS')).toBe(204_800_000);
  expect(bytesIn(status, 'VmHWM')).toBe(245_760_000);
  expect(() => bytesIn(status, 'VmSwap')).toThrow('VmSwap');
});

test('of a process it tells what that says itself, about', () => {
  const usage = usageOf(process.pid);
  const [told, counted] = [usage.cpuMs(), process.cpuUsage()];
  const spentMs = (): number => {
    const { user, system } = process.cpuUsage(counted);
    return (user + system) / 1_000;
  };
  while (spentMs() < 30);
  expect(usage.cpuMs() - told).toBeGreaterThan(15);
  expect(Math.abs(usage.residentBytes() / process.memoryUsage.rss() - 1)).toBeLessThan(0.1);
  // Linux counts in steps, and some of it meanwhile.
  expect(usage.peakBytes()).toBeGreaterThan(0.99 * usage.residentBytes());
});
