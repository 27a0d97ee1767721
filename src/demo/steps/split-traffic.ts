import type { VirtualServiceSpec } from '../../model/index.ts';
import { sharesBetween } from '../load.ts';
import { type Stage, shop, target, type Walk } from '../stage.ts';
import { countWords, furtherRequests, underLoad } from '../under-load.ts';
import { createWait } from '../until.ts';

/** A tenth of the shop's traffic goes to the next version. */

const weights = { [shop.pool]: 90, [shop.next]: 10 } as const;
/** The only member of the pool `next`. */
const nextBackend = 'backend-3';
/**
 * Envoy chooses at random, so the measured share of n requests is off by sqrt(0.1 * 0.9 / n) in the mean: 0.8 points
 * here. Six times that is not chance.
 */
const sample = 1500;
const tolerance = 0.05;
const limitMs = 30_000;

export async function splitTraffic(walk: Walk, stage: Stage): Promise<void> {
  const service = target('VirtualService', 'shop');
  await walk.report.step(`Traffic is split ${weights[shop.pool]}/${weights[shop.next]}`, async (progress) => {
    const wait = createWait({ limitMs, signal: walk.signal });
    const { result: share, count } = await underLoad({ port: stage.web }, progress, async (load) => {
      const { spec } = await stage.rest.get(service);
      await stage.rest.patch(service, { listeners: withWeights(spec as unknown as VirtualServiceSpec) });
      await stage.rest.programmed(service);
      const before = load.count;
      const after = await furtherRequests(load, sample, wait);
      return sharesBetween(before, after).get(nextBackend) ?? 0;
    });
    const measured = `measured ${percent(1 - share)} to ${shop.pool}, ${percent(share)} to ${shop.next}`;
    if (Math.abs(share - weights[shop.next] / 100) > tolerance) throw new Error(`${measured} of ${sample} requests`);
    return { say: `${countWords(count)}; ${measured}`, value: undefined };
  });
}

/** The listeners of the shop with other weights in the rule `home`. */
export function withWeights({ listeners }: VirtualServiceSpec): VirtualServiceSpec['listeners'] {
  const forward = Object.entries(weights).map(([pool, weight]) => ({ pool, weight }));
  return listeners.map((listener) => ({
    ...listener,
    ...(listener.routes !== undefined && {
      routes: listener.routes.map((route) => ({
        ...route,
        rules: route.rules.map((rule) => (rule.name === 'home' ? { ...rule, action: { forward } } : rule)),
      })),
    }),
  }));
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
