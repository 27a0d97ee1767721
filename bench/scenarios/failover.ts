/**
 * The failure table of a cluster, in full: a real etcd of three members, three controllers and then five, fake proxies
 * that notice what they are sent twice or in a former form, and a real Envoy. The test of the same name is the short
 * form; both judge the same figures. FAIRWAY_FAILOVER_CONTROLLERS=3 runs one size alone, FAIRWAY_FAILOVER_FAULTS="leader,slow"
 * the faults with one of these in their name.
 */
import { brokenOf, type Figure, faults, fullPauses, nextLeader, startBed } from '../../test/support/failover/index.ts';
import { handOverMs } from '../lone-election.ts';
import type { Row } from '../report.ts';
import { onStage, type Stage } from '../stage.ts';

const sizes = (process.env['FAIRWAY_FAILOVER_CONTROLLERS'] ?? '3,5').split(',').map(Number);
const chosen = (process.env['FAIRWAY_FAILOVER_FAULTS'] ?? '').split(',');

/** Fake proxies of each controller. */
const toysPerController = 10;

export const title = `What fails in a cluster, with ${sizes.join(' and ')} controllers on etcd, under ${fullPauses.writesPerSecond} writes/s`;

export async function run(): Promise<Row[]> {
  const rows: Row[] = [];
  for (const controllers of sizes) rows.push(...(await onStage((stage) => measure(stage, controllers))));
  return rows;
}

async function measure(stage: Stage, controllers: number): Promise<Row[]> {
  const bed = await startBed({ controllers, toys: controllers * toysPerController });
  if ('missing' in bed) {
    console.log(`Nothing to measure on: ${bed.missing}.`);
    return [{ metric: 'not measured', unit: '', fairway: Number.NaN, peer: null }];
  }
  stage.add({ stop: () => bed.close() });
  const rows: Row[] = [];
  for (const fault of faults) {
    if (!chosen.some((words) => fault.name.includes(words))) continue;
    stage.proceed();
    console.log(`${controllers} controllers, ${fault.name} …`);
    const figures = await fault.run(bed, fullPauses);
    for (const line of brokenOf(figures)) console.log(line);
    for (const figure of figures) {
      const peer =
        figure.metric === nextLeader ? { name: 'lone election', value: await handOverMs(bed.etcd) } : undefined;
      rows.push({ ...rowOf(figure), metric: `${controllers}: ${fault.name}: ${figure.metric}`, peer });
    }
  }
  console.log();
  return rows;
}

function rowOf({ metric, unit, value, limit }: Figure): Row {
  const bar = limit && { of: 'value' as const, kind: limit.kind, limit: limit.value };
  return { metric, unit, fairway: value, bar };
}
