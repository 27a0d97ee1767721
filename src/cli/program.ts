import { Command, CommanderError, Option } from 'commander';
import { clientCommands, processCommands } from './command-table.ts';
import { defaultServer } from './context.ts';
import { CliError, exitCodes } from './failure.ts';
import type { Io } from './io.ts';
import { createPaint } from './output/colour.ts';
import { printable } from './output/text.ts';
import { createSession, type Session, version } from './session.ts';

/** Runs one command line (without the names of Node and of the program). Gives the exit code and never throws. */
export async function runCommandLine(argv: readonly string[], io: Io): Promise<number> {
  try {
    return await dispatch(argv, io);
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
    if (io.signal.aborted) return exitCodes.ok;
    const failure = error instanceof CliError ? error : undefined;
    report(failure ?? new CliError(exitCodes.refused, words(error)), io);
    return failure?.exitCode ?? exitCodes.refused;
  }
}

async function dispatch(argv: readonly string[], io: Io): Promise<number> {
  if (argv[0] === 'help') return dispatch(argv.slice(1).concat(isCommand(argv[1]) ? ['--help'] : []), io);
  const own = processCommands.find(({ name }) => name === argv[0]);
  if (own !== undefined) return codeOf(await own.run(argv.slice(1)));

  let session: Session | undefined;
  const program = createProgram(io, (started) => {
    session = started;
  });
  if (argv.length === 0) {
    program.outputHelp();
    return exitCodes.ok;
  }
  await program.parseAsync(argv, { from: 'user' });
  return session?.exitCode ?? exitCodes.ok;
}

function isCommand(word: string | undefined): boolean {
  return [...processCommands, ...clientCommands].some(({ name }) => name === word);
}

/** A process may say how it ended; one that says nothing leaves it to `process.exitCode`. */
function codeOf(result: unknown): number {
  return typeof result === 'number' ? result : Number(process.exitCode ?? 0);
}

/** What help says beyond commands and options. */
const surroundings = `
Environment:
  FAIRWAY_SERVER     address of the REST API (default: ${defaultServer})
  FAIRWAY_TOKEN      token that is sent to it
  FAIRWAY_CONTEXTS   context file (default: ~/.config/fairway/config.yaml)
  NO_COLOR           no colours, whatever its value

Exit codes:
  0  well
  1  the server or the objects said no; of diff: there is a difference
  2  the command line, a manifest or the context file is wrong
  3  no server could be reached, or it is not ready
  4  it took too long`;

/** The whole command line. `started` is told about the session of the command that is called. */
export function createProgram(io: Io, started: (session: Session) => void): Command {
  const program = new Command('fairway')
    .description('Control plane for fleets of Envoy load balancers')
    .exitOverride()
    .showHelpAfterError('Add --help to see what there is.')
    .configureOutput({
      writeOut: (text) => io.out.write(text),
      writeErr: (text) => io.err.write(text),
      outputError: (text, write) => write(text.replace(/^error: /, 'fairway: ')),
      getOutHelpWidth: () => io.out.columns ?? 80,
      getErrHelpWidth: () => io.err.columns ?? 80,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .configureHelp({ showGlobalOptions: true })
    .version(version(), '--version', 'print the version')
    .addOption(
      new Option('--server <url>', 'REST API of the server (FAIRWAY_SERVER; else this machine)').conflicts('context'),
    )
    .option('--context <name>', 'server and scope of that name in the context file')
    .helpOption('-h, --help', 'show help')
    .helpCommand(false)
    .addHelpText('after', surroundings);

  for (const { name, summary, group } of processCommands) {
    program.command(name).description(summary).helpGroup(`${group}:`);
  }
  for (const { name, summary, group } of clientCommands) {
    program.command(name).description(summary).helpGroup(`${group}:`);
  }
  program.command('__complete', { hidden: true });

  // Only the module of the command that is called is loaded: a start is mostly the loading of code.
  program.hook('preSubcommand', async (_program, command) => {
    const session = createSession(io, program.opts());
    started(session);
    await defineCommand(command, session);
  });
  return program;
}

/** Gives a command of the program its arguments and its action. */
export async function defineCommand(command: Command, session: Session): Promise<void> {
  const entry = clientCommands.find(({ name }) => name === command.name());
  const module = command.name() === '__complete' ? await import('./commands/complete.ts') : await entry?.load();
  module?.define(command, session);
}

function report(failure: CliError, io: Io): void {
  const paint = createPaint(io.err, io.env);
  const lines = [
    `${paint('bad', 'fairway:')} ${printable(failure.message)}`,
    ...failure.details.map((detail) => `  ${printable(detail)}`),
    ...(failure.hint === undefined ? [] : [printable(failure.hint)]),
    ...(failure.requestId === undefined ? [] : [paint('faint', `Request ${printable(failure.requestId)}.`)]),
  ];
  io.err.write(`${lines.join('\n')}\n`);
}

function words(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
