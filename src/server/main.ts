import { readFile } from 'node:fs/promises';
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { parse } from 'yaml';
import { parseServerConfig, type ServerConfig, serverDefaults, serverFields } from '../config/index.ts';
import { nearest } from '../lib/nearest.ts';
import { createLogger } from '../telemetry/log.ts';

/** Exit codes as everywhere in the command line: what the user got wrong, and what failed. */
const usageCode = 2;
const failureCode = 1;

/** `fairway server`: runs until it is told to stop. Resolves with the exit code. */
export async function run(argv: readonly string[]): Promise<number> {
  const loaded = await loadConfig(argv).catch((error: unknown) => [
    error instanceof Error ? error.message : String(error),
  ]);
  if (Array.isArray(loaded)) {
    for (const line of loaded) process.stderr.write(`fairway server: ${line}\n`);
    return usageCode;
  }
  if (loaded === 'help') {
    process.stdout.write(help());
    return 0;
  }
  if (loaded.print) {
    process.stdout.write(`${JSON.stringify(loaded.config, undefined, 2)}\n`);
    return 0;
  }
  return serve(loaded);
}

async function serve({ config, newAdminToken }: Exclude<Loaded, 'help'>): Promise<number> {
  const log = createLogger({ level: config.logLevel });
  const { promise: stopped, resolve: stop } = Promise.withResolvers<number>();
  const { startServer } = await import('./start.ts');
  const onFailure = (error: Error): void => {
    log.fatal({ event: 'store_failed', err: error });
    stop(failureCode);
  };
  // Before the start: told to stop while it starts, it finishes that and stops in order.
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      stop(0);
      stopping.abort();
    });
  }
  try {
    const dataKeys = process.env['FAIRWAY_DATA_KEYS'];
    const server = await startServer({ config, log, onFailure, dataKeys, newAdminToken, signal: stopping.signal });
    const code = await stopped;
    await server.close();
    log.info({ event: 'server_stopped' });
    return code;
  } catch (error) {
    // It waited for its store, and shall no longer.
    if (stopping.signal.aborted) return 0;
    log.fatal({ event: 'server_failed', err: error });
    process.stderr.write(`fairway server: ${error instanceof Error ? error.message : String(error)}\n`);
    return failureCode;
  }
}

type Loaded = { readonly config: ServerConfig; readonly print: boolean; readonly newAdminToken: boolean } | 'help';

/** The configuration, or the lines that say what is wrong with it. */
async function loadConfig(argv: readonly string[]): Promise<Loaded | string[]> {
  const options = Object.fromEntries(
    Object.entries(serverFields).map(([field, { flag }]) => [
      flag.slice(2),
      { type: typeof serverDefaults[field as keyof ServerConfig] === 'boolean' ? 'boolean' : 'string' } as const,
    ]),
  );
  const known = {
    ...options,
    config: { type: 'string' },
    'print-config': { type: 'boolean' },
    'new-admin-token': { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  } as const;
  const unknown = unknownFlag(argv, known);
  if (unknown !== undefined) return [unknown];
  const { values } = parseArgs({ args: [...argv], options: known, strict: true });
  if (values['help'] === true) return 'help';
  const path = values['config'] ?? process.env['FAIRWAY_CONFIG'];
  const file = typeof path === 'string' ? parse(await readFile(path, 'utf8'), { maxAliasCount: 0 }) : undefined;
  const given: Readonly<Record<string, unknown>> = values;
  const flags = Object.fromEntries(
    Object.entries(serverFields).map(([field, { flag }]) => [field, given[flag.slice(2)]]),
  );
  const config = parseServerConfig({ file, env: process.env, flags });
  if (!config.ok)
    return config.error.map(({ pointer, message }) => (pointer === '' ? message : `${pointer}: ${message}`));
  const isSet = (name: string): boolean => given[name] === true;
  return { config: config.value, print: isSet('print-config'), newAdminToken: isSet('new-admin-token') };
}

/** What is wrong with the first flag that does not exist, with the one that was probably meant. */
function unknownFlag(argv: readonly string[], known: NonNullable<ParseArgsConfig['options']>): string | undefined {
  const lenient = { args: [...argv], options: known, strict: false, allowPositionals: true, tokens: true } as const;
  const flags = Object.keys(known).map((name) => `--${name}`);
  for (const token of parseArgs(lenient).tokens) {
    if (token.kind !== 'option' || Object.hasOwn(known, token.name)) continue;
    const near = nearest(token.rawName, flags);
    return `unknown option ${token.rawName}${near === undefined ? ', see --help' : `; did you mean ${near}?`}`;
  }
  return undefined;
}

function help(): string {
  const rows = Object.values(serverFields).map(({ flag, env, help: text }) => `  ${flag.padEnd(24)}${text} (${env})`);
  return [
    'Usage: fairway server [options]',
    '',
    'Runs a controller: REST API, store and xDS.',
    '',
    ...rows,
    '  --config                YAML file with the same fields (FAIRWAY_CONFIG)',
    '  --print-config          print the configuration as it would be, and end',
    '  --new-admin-token       make another admin token, beside the data: when all others are lost',
    '',
  ].join('\n');
}
