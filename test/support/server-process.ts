import { spawn } from 'node:child_process';
import { get } from 'node:http';
import { createInterface } from 'node:readline';
import { startOrphanGuard } from '../../src/lib/orphan-guard.ts';
import { executable } from './command-line.ts';
import { type ProcessUsage, usageOf } from './process-usage.ts';
import { patienceMs, until, within } from './until.ts';

/** `fairway server` as people run it: a process of its own with the embedded store, on free ports of loopback. */
export interface ServerProcess extends ProcessUsage {
  readonly pid: number;
  /** REST API, `host:port`. */
  readonly address: string;
  readonly xdsPort: number;
  /** From the spawn to the first 200 of `/readyz`. */
  readonly startMs: number;
  /** All that it wrote, to both outputs. */
  output(): string;
  /** Stands still, its connections open, until `resume`. */
  pause(): void;
  resume(): void;
  /** Ends it at once. */
  kill(): Promise<void>;
  /** Sends SIGTERM and waits for the end, which it makes after `limitMs`. */
  stop(limitMs?: number): Promise<Ended>;
}

/** How a process ended; one of both is null. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ServerProcessOptions {
  /** Folder of the embedded store; not used where the flags say another one. */
  readonly data: string;
  /** Folder that Node keeps compiled code in; absent: the machine's. */
  readonly compileCache?: string;
  /** Further flags of the server. */
  readonly flags?: readonly string[];
  /** Further variables. */
  readonly env?: Readonly<Record<string, string>>;
  /** Default: none, so that whoever tests something else need not say who they are. */
  readonly authentication?: 'required' | 'none';
  /** Folder in which the server leaves a note for the command line; absent: beside the data. */
  readonly state?: string;
  /** Gets each line that it writes, also while it starts. */
  readonly onLine?: (line: string) => void;
  /** Further arguments of Node. */
  readonly node?: readonly string[];
}

export async function startServerProcess(options: ServerProcessOptions): Promise<ServerProcess> {
  const { data, compileCache, flags = [], node = [], authentication = 'none', state = `${data}-state` } = options;
  // No variable of whoever runs this changes the configuration.
  const env = {
    PATH: process.env['PATH'],
    XDG_STATE_HOME: state,
    FAIRWAY_AUTHENTICATION: authentication,
    ...(process.env['TMPDIR'] === undefined ? {} : { TMPDIR: process.env['TMPDIR'] }),
    ...(compileCache === undefined ? {} : { NODE_COMPILE_CACHE: compileCache }),
    ...options.env,
  };
  const any = '127.0.0.1:0';
  const argv = [...node, executable, 'server', '--data', data, '--listen', any, '--xds-listen', any, ...flags];
  const spawned = performance.now();
  const child = spawn(process.execPath, argv, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const { pid } = child;
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  if (pid === undefined) throw new Error('a server cannot be started', { cause: await ended.catch((error) => error) });
  const guard = startOrphanGuard(pid);
  void ended.then(() => guard.kill('SIGKILL'));

  let output = '';
  const listening = Promise.withResolvers<Addresses>();
  for (const stream of [child.stdout, child.stderr]) {
    createInterface(stream).on('line', (line) => {
      output += `${line}\n`;
      options.onLine?.(line);
      const addresses = addressesIn(line);
      if (addresses !== undefined) listening.resolve(addresses);
    });
  }
  const stop = async (limitMs = patienceMs): Promise<Ended> => {
    child.kill('SIGTERM');
    const force = setTimeout(() => child.kill('SIGKILL'), limitMs);
    try {
      return await within('a killed server to end', ended, limitMs + patienceMs);
    } finally {
      clearTimeout(force);
    }
  };
  const tooLate = setTimeout(
    () => listening.reject(new Error(`no server after ${patienceMs} ms: ${output}`)),
    patienceMs,
  );
  void ended.then(({ code }) => listening.reject(new Error(`the server ended with ${code}: ${output}`)));
  try {
    const { address, xdsAddress } = await listening.promise;
    await until('the server to be ready', async () => (await statusOf(`http://${address}/readyz`)) === 200, {
      everyMs: 1,
      describe: () => output,
    });
    return {
      pid,
      address,
      xdsPort: Number(xdsAddress.split(':').at(-1)),
      startMs: performance.now() - spawned,
      output: () => output,
      pause: () => void child.kill('SIGSTOP'),
      resume: () => void child.kill('SIGCONT'),
      async kill() {
        child.kill('SIGKILL');
        await within('a killed server to end', ended);
      },
      stop,
      ...usageOf(pid),
    };
  } catch (error) {
    await stop();
    throw error;
  } finally {
    clearTimeout(tooLate);
  }
}

const answerLimitMs = 5_000;

interface Addresses {
  readonly address: string;
  readonly xdsAddress: string;
}

/** What a server logs when it listens: its ports are free ones. */
function addressesIn(line: string): Addresses | undefined {
  if (!line.includes('"server_ready"')) return undefined;
  return JSON.parse(line) as Addresses;
}

function statusOf(url: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const asked = get(url, { agent: false, timeout: answerLimitMs }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    asked.once('timeout', () => asked.destroy(new Error('no answer in time')));
    asked.once('error', reject);
  });
}
