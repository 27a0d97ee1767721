import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';

/**
 * Runs Envoy as a part of this process: with the same terminal, told of its signals, and never outliving it. Resolves
 * with the exit code when Envoy has ended.
 */
export async function runEnvoy(path: string, args: readonly string[]): Promise<number> {
  const child = spawn(path, args, { stdio: 'inherit' });
  const ended = new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])));
  });
  const guard = child.pid === undefined ? undefined : startGuard(child.pid);
  const forget = forwardSignals(child);
  try {
    return await ended;
  } finally {
    forget();
    // Before anything else can get Envoy's process id.
    guard?.kill('SIGKILL');
  }
}

const forwarded = ['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGQUIT'] as const;

/** Gives the function that ends it. */
function forwardSignals(child: ChildProcess): () => void {
  const forward = (signal: NodeJS.Signals) => {
    // Ctrl-C on a terminal goes to the whole process group, so Envoy has it already.
    if (signal === 'SIGINT' && process.stdin.isTTY) return;
    child.kill(signal);
  };
  for (const signal of forwarded) process.on(signal, forward);
  return () => {
    for (const signal of forwarded) process.off(signal, forward);
  };
}

/** Reads until its input ends, which is when this process has ended in whatever way, and then ends the one it is told. */
const guardScript = `
while read -r _; do :; done
kill -TERM "$1"
for _ in 1 2 3 4 5 6 7 8 9 10; do kill -0 "$1" || exit 0; sleep 1; done
kill -KILL "$1"
`;

/**
 * A process that ends Envoy when this one could not, killed for instance: nobody would serve, stop or find an Envoy that
 * was left behind. In a session of its own, so that Ctrl-C does not reach it first.
 */
function startGuard(pid: number): ChildProcess {
  const guard = spawn('/bin/sh', ['-c', guardScript, 'fairway-envoy-guard', String(pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  // A machine without a shell has to do without it.
  guard.on('error', () => undefined);
  guard.unref();
  return guard;
}
