import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { CliError, exitCodes } from '../../../src/cli/failure.ts';
import type { Identity } from '../../../src/cli/membership/identity.ts';
import { MembershipRefused } from '../../../src/cli/membership/registrar.ts';
import { renewalAgeMs, retryPauseMs, startRenewal } from '../../../src/cli/membership/renewal.ts';
import { until } from '../../support/until.ts';

const issuedAt = '2026-01-01T00:00:00.000Z';
const day = { issuedAt, notAfter: '2026-01-02T00:00:00.000Z' };
const hour = 3_600_000;

describe('the time of a renewal', () => {
  it('is at two thirds of the life, or a little before', () => {
    expect(renewalAgeMs(day, 0)).toBe(16 * hour);
    const early = renewalAgeMs(day, 0.999);
    expect(early).toBeGreaterThan(14.5 * hour);
    expect(early).toBeLessThan(16 * hour);
  });

  it('comes again soon, then less often, but often enough', () => {
    expect(retryPauseMs(day, 0, 0.5)).toBeLessThanOrEqual(1_000);
    expect(retryPauseMs(day, 30, 1)).toBe(5 * 60_000);
    // Of a certificate for thirty seconds: ten attempts fit into the last ten.
    expect(retryPauseMs({ issuedAt, notAfter: '2026-01-01T00:00:30.000Z' }, 30, 1)).toBe(1_000);
  });
});

describe('an identity', () => {
  const identity = (lifeMs: number): Identity => ({
    node: 'edge-1',
    fleet: 'edge',
    uid: 'u',
    trustDomain: 'd',
    certificate: 'c',
    ca: 'ca',
    key: 'k',
    issuedAt: new Date().toISOString(),
    notAfter: new Date(Date.now() + lifeMs).toISOString(),
  });
  const start = (renew: (present: Identity) => Promise<Identity>, notes: string[] = []) =>
    startRenewal({
      identity: identity(30),
      renew,
      note: (text) => notes.push(text),
      now: () => Date.now(),
      random: () => 0.5,
    });

  it('is renewed again and again, each time from the last one', async () => {
    const seen: string[] = [];
    const renewal = start(async ({ certificate }) => {
      seen.push(certificate);
      return { ...identity(30), certificate: `${certificate}+` };
    });
    await until('three of them', () => seen.length >= 3);
    await renewal.close();
    expect(seen.slice(0, 3)).toEqual(['c', 'c+', 'c++']);
  });

  it('is not asked for all the time by a clock that goes wrong', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    let renewals = 0;
    const behind = { ...identity(hour), issuedAt: new Date(0).toISOString(), notAfter: new Date(hour).toISOString() };
    const renewal = startRenewal({
      identity: behind,
      renew: async () => {
        renewals += 1;
        return behind;
      },
      note: () => undefined,
      now: () => Date.now(),
      random: () => 0.5,
    });
    await vi.advanceTimersByTimeAsync(hour / 2);
    expect(renewals).toBe(1);
    await vi.advanceTimersByTimeAsync(hour / 4);
    expect(renewals).toBe(2);
    await renewal.close();
  });

  it('is tried again when nobody answers, which is told once', async () => {
    let attempts = 0;
    const notes: string[] = [];
    const renewal = start(async () => {
      attempts += 1;
      if (attempts < 4) throw new CliError(exitCodes.unreachable, 'nobody is there');
      return identity(hour);
    }, notes);
    await until('the fourth attempt', () => attempts === 4);
    await renewal.close();
    expect(notes).toEqual(['the certificate cannot be renewed yet: nobody is there']);
  });

  it('is given up when it is refused, which is told', async () => {
    let attempts = 0;
    const notes: string[] = [];
    const renewal = start(async () => {
      attempts += 1;
      throw new MembershipRefused('the node was deleted', undefined);
    }, notes);
    await until('the note', () => notes.length > 0);
    await renewal.close();
    expect({ attempts, notes }).toEqual({
      attempts: 1,
      notes: ['the certificate is not renewed any more: the node was deleted'],
    });
  });
});
