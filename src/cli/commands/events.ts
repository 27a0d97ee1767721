import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import type { Client, Query } from '../client.ts';
import { CliError, exitCodes } from '../failure.ts';
import { toJson, toYaml } from '../output/serialise.ts';
import { type Column, createTablePrinter } from '../output/table.ts';
import { formatAge } from '../output/text.ts';
import { examples } from '../selection.ts';
import type { Session } from '../session.ts';
import { objectQuery, objectWords } from '../subject.ts';
import type { WireEvent } from '../wire.ts';

interface Options {
  readonly scope?: string;
  readonly type?: string;
  readonly reason?: string;
  readonly since?: string;
  readonly limit?: string;
  readonly watch?: boolean;
  readonly output: 'table' | 'wide' | 'yaml' | 'json';
}

export function define(command: Command, session: Session): void {
  command
    .argument('[object]', 'only of this kind, or of this object: KIND or KIND/NAME')
    .option('-n, --scope <scope>', 'only of objects in this scope')
    .addOption(new Option('--type <type>', 'only of this type').choices(['Normal', 'Warning']))
    .option('--reason <reason>', 'only for this reason')
    .option('--since <time>', 'only from then on: 1h30m (ago), or 2030-01-31T12:00:00Z')
    .option('--limit <number>', 'at most so many, the newest ones')
    .option('-w, --watch', 'go on with what happens, until Ctrl-C')
    .addOption(
      new Option('-o, --output <format>', 'how to print them')
        .choices(['table', 'wide', 'yaml', 'json'])
        .default('table'),
    )
    .action((object: string | undefined, options: Options) => events(session, object, options));
  examples(command, ['fairway events', 'fairway events --type Warning --since 1h', 'fairway events node/edge-1 -w']);
}

async function events(session: Session, object: string | undefined, options: Options): Promise<void> {
  const { scope, type, reason, since, limit } = options;
  const query: Query = { ...objectQuery(object), scope, type, reason, since, limit };
  const client = await session.client();
  if (options.watch === true) return watch(session, client, query, options);
  const { items } = (await client.request('GET', '/v1/events', { query })) as { readonly items: readonly WireEvent[] };
  const oldestFirst = items.toReversed();
  const { io } = session;
  if (options.output === 'json') io.out.write(toJson(oldestFirst));
  else if (options.output === 'yaml') io.out.write(await toYaml(oldestFirst));
  else if (items.length === 0) io.err.write('Nothing happened.\n');
  else io.out.write(tableFor(session, options).print(oldestFirst));
}

function tableFor({ io, paint }: Session, options: Options) {
  const columns: readonly Column<WireEvent>[] = [
    { title: 'LAST', cell: ({ last }) => formatAge(io.now() - Date.parse(last)) },
    { title: 'TYPE', cell: ({ type }) => ({ text: type, tone: type === 'Warning' ? 'warning' : 'plain' }) },
    { title: 'REASON', cell: ({ reason }) => reason },
    { title: 'OBJECT', shrinkTo: 16, cell: ({ object }) => objectWords(object) },
    { title: 'COUNT', cell: ({ count }) => String(count) },
    { title: 'CONTROLLER', wide: true, shrinkTo: 8, cell: ({ controller = '-' }) => controller },
    { title: 'FIRST', wide: true, cell: ({ first }) => formatAge(io.now() - Date.parse(first)) },
    { title: 'MESSAGE', shrinkTo: 20, cell: ({ message }) => message },
  ];
  return createTablePrinter(columns, { width: io.out.columns, wide: options.output === 'wide', paint });
}

/** How long to wait before a watch that broke off is taken up again. */
const firstRetryMs = 250;
const longestRetryMs = 5000;

/** Prints what happened, then what happens. After a break only what is new is told. */
async function watch(session: Session, client: Client, query: Query, options: Options): Promise<void> {
  const { io } = session;
  const table = tableFor(session, options);
  /** Each event by what it is → how often it was told. */
  const told = new Map<string, number>();
  let retryMs = firstRetryMs;
  while (!io.signal.aborted) {
    try {
      const lines = client.stream('/v1/events', { query: { ...query, watch: true }, signal: io.signal });
      for await (const line of lines) {
        retryMs = firstRetryMs;
        const { type, object: event } = line as { readonly type: string; readonly object: WireEvent };
        if (type !== 'put') continue;
        const key = JSON.stringify([event.object, event.reason, event.message, event.first, event.controller]);
        if (told.get(key) === event.count) continue;
        told.set(key, event.count);
        if (options.output === 'json') io.out.write(`${JSON.stringify(event)}\n`);
        else if (options.output === 'yaml') io.out.write(`---\n${await toYaml(event)}`);
        else io.out.write(table.print([event]));
      }
    } catch (error) {
      if (io.signal.aborted) return;
      if (!(error instanceof CliError) || error.exitCode !== exitCodes.unreachable) throw error;
      if (retryMs === firstRetryMs) io.err.write(`${error.message}; trying again\n`);
    }
    await sleep(retryMs, undefined, { signal: io.signal }).catch(() => undefined);
    retryMs = Math.min(retryMs * 2, longestRetryMs);
  }
}
