import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startOrphanGuard } from '../../src/lib/orphan-guard.ts';
import { debianProgram } from './debian.ts';
import { freePort } from './ports.ts';
import { until } from './until.ts';

/** A real Prometheus that scrapes some servers several times a second. */
export interface RunningPrometheus {
  /** Value of each series that a query gives, by its labels without `instance` and `job`. */
  query(promql: string): Promise<{ readonly labels: Readonly<Record<string, string>>; readonly value: number }[]>;
  /** The value of the only series that a query gives; undefined while there is none. */
  value(promql: string): Promise<number | undefined>;
  /** What it has learned of each metric: its type and its help. */
  metadata(): Promise<Readonly<Record<string, readonly { readonly type: string; readonly help: string }[]>>>;
  stop(): Promise<void>;
}

/** Starts one on a free port of loopback; where there is none and none can be installed, the words that say so. */
export async function startPrometheus(
  targets: readonly string[],
): Promise<RunningPrometheus | { readonly missing: string }> {
  const program = await debianProgram('prometheus', 'prometheus');
  if ('missing' in program) return program;
  const folder = await mkdtemp(join(tmpdir(), 'fairway-prometheus-'));
  const config = join(folder, 'prometheus.yml');
  const job = { job_name: 'fairway', static_configs: [{ targets }] };
  const intervals = { scrape_interval: '200ms', scrape_timeout: '200ms' };
  // YAML takes JSON.
  await writeFile(config, JSON.stringify({ global: intervals, scrape_configs: [job] }));
  const url = `http://127.0.0.1:${await freePort()}`;
  const child = spawn(
    program.path,
    [`--config.file=${config}`, `--storage.tsdb.path=${join(folder, 'data')}`].concat([
      `--web.listen-address=${new URL(url).host}`,
      '--log.level=warn',
    ]),
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let log = '';
  let over = false;
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const ended = new Promise<void>((resolve) => {
    const end = (): void => {
      over = true;
      resolve();
    };
    child.once('error', end);
    child.once('close', end);
  });
  const guard = child.pid === undefined ? undefined : startOrphanGuard(child.pid);

  async function ask<T>(path: string): Promise<T> {
    const response = await fetch(`${url}/api/v1/${path}`);
    const answer = (await response.json()) as { readonly status: string; readonly data: T; readonly error?: string };
    if (answer.status !== 'success') throw new Error(`${path}: ${answer.error}`);
    return answer.data;
  }

  async function query(promql: string) {
    const { result } = await ask<{ readonly result: readonly Sample[] }>(`query?query=${encodeURIComponent(promql)}`);
    const series = result.map(({ metric: { instance: _instance, job: _job, ...labels }, value: [, value] }) => ({
      labels,
      value: Number(value),
    }));
    // In whatever order they come.
    return series.sort((a, b) => (JSON.stringify(a.labels) < JSON.stringify(b.labels) ? -1 : 1));
  }

  const stop = async (): Promise<void> => {
    // Nothing in it is kept.
    child.kill('SIGKILL');
    await ended;
    guard?.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await until('Prometheus to start', async () => over || (await fetch(`${url}/-/ready`)).ok, { describe: () => log });
    if (over) throw new Error(`Prometheus ended: ${log}`);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    query,
    async value(promql) {
      const series = await query(promql);
      if (series.length > 1) throw new Error(`${promql} gives ${series.length} series`);
      return series[0]?.value;
    },
    metadata: () => ask('metadata'),
    stop,
  };
}

interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [time: number, value: string];
}
