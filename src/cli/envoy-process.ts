import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { startOrphanGuard } from '../lib/orphan-guard.ts';

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
  const guard = child.pid === undefined ? undefined : startOrphanGuard(child.pid);
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
