/**
 * The command line: a client of the REST API that shows, and a launcher of processes (`server`, `envoy`, `demo`). One
 * run of it is one command; nothing outlives it. It imports the lower rings alone, and whatever is large only when the
 * command at hand needs it, because every `fairway get` pays for what is loaded.
 *
 * This file is the executable's last step: importing it runs the command line of this process.
 */
import { processIo } from './io.ts';
import { runCommandLine } from './program.ts';

// `fairway get … | head` ends when `head` has seen enough, and that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

// Not `process.exit`: it would cut off what a pipe has not taken yet.
process.exitCode = await runCommandLine(process.argv.slice(2), processIo());
