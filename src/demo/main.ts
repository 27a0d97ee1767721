/**
 * demo: shows Fairway on this machine, for real. Starts a server, an Envoy that joins it and small backends as
 * processes of their own, applies the example manifests, sends requests and changes things under load. It uses what
 * every user has, the command line and the REST API, and nothing of the rooms behind them; so what it shows is what
 * there is. One run is one `Walk` over one `Stage`; whatever way it ends, every child is ended and the temporary folder
 * is gone.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startBackends } from './backends.ts';
import { createChildren } from './children.ts';
import { backendsOf, readManifests } from './examples.ts';
import { createReport } from './report.ts';
import type { Stage, Walk } from './stage.ts';
import { addMember } from './steps/add-member.ts';
import { applyExamples } from './steps/apply.ts';
import { invite } from './steps/invite.ts';
import { refuseManifest } from './steps/refuse-manifest.ts';
import { replaceCertificate } from './steps/replace-certificate.ts';
import { splitTraffic } from './steps/split-traffic.ts';
import { start } from './steps/start.ts';
import { concurrency, perSecond } from './under-load.ts';

const usage = `Usage: fairway demo [options]

Starts a server, an Envoy and backends on free ports of this machine, applies the example manifests, sends requests
through Envoy and changes things under load. Then it goes on running until Ctrl-C.

  --once             end after the walk: exit code 0, or 1 when a step failed
  --backends FOLDER  only start the backends that the manifests of a folder need, on the ports that stand there
  --backends-listen ADDRESS
                     address of this machine that those listen on (default 127.0.0.1)
  -h, --help         show this
`;

const exitCodes = { ok: 0, failed: 1, usage: 2 } as const;
const logLines = 30;

/** Gives the exit code. */
export async function run(argv: readonly string[]): Promise<number> {
  const options = readOptions(argv);
  if (typeof options === 'string') {
    process.stderr.write(`fairway demo: ${options}\n\n${usage}`);
    return exitCodes.usage;
  }
  if (options.help === true) {
    process.stdout.write(usage);
    return exitCodes.ok;
  }
  const told = listenForSignals();
  try {
    return await (options.backends === undefined
      ? demo(told, options.once === true)
      : onlyBackends(told, options.backends, options['backends-listen']));
  } finally {
    told.forget();
  }
}

function readOptions(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      options: {
        once: { type: 'boolean' },
        backends: { type: 'string' },
        'backends-listen': { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** That somebody told this process to end. */
class Interrupted extends Error {
  readonly exitCode: number;

  constructor(signal: NodeJS.Signals) {
    super(`told to end by ${signal}`);
    this.exitCode = 128 + constants.signals[signal];
  }
}

interface Told {
  /** Aborted with an `Interrupted`. */
  readonly signal: AbortSignal;
  forget(): void;
}

function listenForSignals(): Told {
  const controller = new AbortController();
  const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  // Not once: a second Ctrl-C must not cut off the end of the first.
  const tell = (name: NodeJS.Signals) => controller.abort(new Interrupted(name));
  for (const name of names) process.on(name, tell);
  return {
    signal: controller.signal,
    forget() {
      for (const name of names) process.off(name, tell);
    },
  };
}

/** For somebody who starts the rest by hand. */
async function onlyBackends({ signal }: Told, folder: string, host = '127.0.0.1'): Promise<number> {
  const backends = await startBackends(backendsOf(readManifests(folder)), host);
  for (const { name, port, protocol } of backends) process.stdout.write(`${name}: ${protocol} on ${host}:${port}\n`);
  await aborted(signal);
  await Promise.all(backends.map((backend) => backend.close()));
  return exitCodes.ok;
}

async function demo(told: Told, once: boolean): Promise<number> {
  const report = createReport(process.stdout, told.signal);
  const folder = mkdtempSync(join(tmpdir(), 'fairway-demo-'));
  const children = createChildren(folder);
  const broken = new AbortController();
  const closers: (() => Promise<void> | void)[] = [];
  const walk: Walk = {
    report,
    children,
    folder,
    signal: AbortSignal.any([told.signal, broken.signal]),
    atEnd: (close) => closers.push(close),
    fail: (error) => broken.abort(error),
  };
  // Should this process end before it has cleaned up, for instance because nobody reads its output any more.
  const abandon = () => {
    children.abandon();
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', abandon);
  let isWalked = false;
  try {
    const stage = await walkAll(walk);
    isWalked = true;
    if (once) return exitCodes.ok;
    invite(walk, stage);
    await aborted(walk.signal);
    throw walk.signal.reason;
  } catch (error) {
    // To be told to end is how the quiet time after the walk ends; the walk itself it only breaks off.
    if (told.signal.aborted) return isWalked ? exitCodes.ok : (told.signal.reason as Interrupted).exitCode;
    const gone = broken.signal.aborted ? (broken.signal.reason as Error) : undefined;
    const logs = children.all.map((child) => ({ name: child.name, lines: child.tail(logLines) }));
    report.failure(failureWords(error, gone), logs);
    return exitCodes.failed;
  } finally {
    await children.stop();
    for (const close of closers.toReversed()) await close();
    rmSync(folder, { recursive: true, force: true });
    process.off('exit', abandon);
  }
}

async function walkAll(walk: Walk): Promise<Stage> {
  const stage = await start(walk);
  await applyExamples(walk, stage);
  walk.report.heading(`Changes under load: ${perSecond} requests a second on ${concurrency} connections`);
  await addMember(walk, stage);
  await splitTraffic(walk, stage);
  await replaceCertificate(walk, stage);
  walk.report.heading('A change that is wrong');
  await refuseManifest(walk, stage);
  return stage;
}

/** The step that failed, and whether something that it rests on was gone by then. */
function failureWords(error: unknown, gone: Error | undefined): string {
  if (!(error instanceof Error)) return String(error);
  return gone === undefined || error.message.includes(gone.message)
    ? error.message
    : `${error.message} (${gone.message})`;
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
