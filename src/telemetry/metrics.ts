import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { type MetricInfo, metricTable } from './metric-table.ts';

type Table = typeof metricTable;

type InstrumentOf<Info extends MetricInfo> = Info['type'] extends 'counter'
  ? Counter<Info['labels'][number]>
  : Info['type'] extends 'gauge'
    ? Gauge<Info['labels'][number]>
    : Histogram<Info['labels'][number]>;

type Instruments = { readonly [Field in keyof Table]: InstrumentOf<Table[Field]> };

/** The metrics of a server process: those of the table, and Node's own. One per server. */
export interface Metrics extends Instruments {
  readonly registry: Registry;
  /** Has `read` bring up to date, at each scrape, what is counted elsewhere: so that counting costs nothing here. */
  beforeScrape(read: () => void | Promise<void>): void;
  /** All of them as Prometheus reads them. */
  scrape(): Promise<string>;
}

/** What Prometheus takes for counters by their names and are none. */
const misnamed = ['active_handles_total', 'active_requests_total', 'active_resources_total'];

export function createMetrics(): Metrics {
  const registry = new Registry();
  const reads: (() => void | Promise<void>)[] = [];
  const instruments = Object.fromEntries(
    Object.entries(metricTable).map(([field, info]) => [field, createInstrument(info, registry)]),
  ) as unknown as Instruments;
  collectDefaultMetrics({ register: registry, prefix: 'fairway_' });
  for (const name of misnamed) registry.removeSingleMetric(`fairway_nodejs_${name}`);
  return {
    ...instruments,
    registry,
    beforeScrape: (read) => void reads.push(read),
    async scrape() {
      await Promise.all(reads.map((read) => read()));
      return registry.metrics();
    },
  };
}

function createInstrument(info: MetricInfo, registry: Registry): Counter | Gauge | Histogram {
  const { name, help, labels, buckets = [] } = info;
  const common = { name, help, labelNames: [...labels], registers: [registry] };
  if (info.type === 'counter') return new Counter(common);
  return info.type === 'gauge' ? new Gauge(common) : new Histogram({ ...common, buckets: [...buckets] });
}

/** Sets a counter to totals that are counted elsewhere and only grow. */
export function setTotals<Label extends string>(
  counter: Counter<Label>,
  totals: Iterable<readonly [labels: Partial<Record<Label, string>>, total: number]>,
): void {
  counter.reset();
  for (const [labels, total] of totals) counter.inc(labels, total);
}
