import { type ChildProcess, spawn } from 'node:child_process';

/** Reads until its input ends, which is when this process has ended in whatever way, and then ends the one it is told. */
const script = `
while read -r _; do :; done
kill -TERM "$1"
for _ in 1 2 3 4 5 6 7 8 9 10; do kill -0 "$1" || exit 0; sleep 1; done
kill -KILL "$1"
`;

/**
 * A process that ends the child `pid` when this one could not, killed for instance: nobody would stop or find what was
 * left behind. In a session of its own, so that Ctrl-C does not reach it first. Who starts it kills it (SIGKILL) when
 * the child has ended, before anything else can get that process id.
 */
export function startOrphanGuard(pid: number): ChildProcess {
  const guard = spawn('/bin/sh', ['-c', script, 'fairway-orphan-guard', String(pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  // A machine without a shell has to do without it.
  guard.on('error', () => undefined);
  guard.unref();
  return guard;
}
