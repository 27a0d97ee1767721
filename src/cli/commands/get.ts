import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import { type Kind, namesOfKinds } from '../../model/kind.ts';
import { type Client, ProblemError } from '../client.ts';
import { columnsFor } from '../columns.ts';
import { CliError, exitCodes, usageError } from '../failure.ts';
import { parseTargets, singular, type Target } from '../kind-words.ts';
import { getObject, isMissing, listObjects, type Selection, watchObjects } from '../objects.ts';
import { ordered, toJson, toYaml } from '../output/serialise.ts';
import { createTablePrinter } from '../output/table.ts';
import { examples, type ScopeOptions, scopeOf, scopeOption, selectorOption } from '../selection.ts';
import type { Session } from '../session.ts';
import type { WireObject } from '../wire.ts';

interface Options extends ScopeOptions {
  readonly allScopes?: boolean;
  readonly selector?: string;
  readonly output: 'table' | 'wide' | 'yaml' | 'json' | 'name';
  readonly watch?: boolean;
  readonly headers: boolean;
}

export function define(command: Command, session: Session): void {
  command
    .argument('<kind>', 'a kind by any of its names, several with commas, or KIND/NAME')
    .argument('[name...]', 'only the objects of these names')
    .addOption(scopeOption())
    .option('-A, --all-scopes', 'objects of all scopes')
    .addOption(selectorOption())
    .addOption(
      new Option('-o, --output <format>', 'how to print them')
        .choices(['table', 'wide', 'yaml', 'json', 'name'])
        .default('table'),
    )
    .option('-w, --watch', 'go on with what changes, until Ctrl-C')
    .option('--no-headers', 'print tables without their first line')
    .action((kind: string, names: readonly string[], options: Options) => get(session, [kind, ...names], options));
  examples(command, [
    'fairway get vs',
    'fairway get virtual-services,pools -A -o wide',
    'fairway get pool web -o yaml',
    'fairway get vs shop -w',
  ]);
}

/** What is asked for of one kind: some names, or a selection. */
interface Group {
  readonly kind: Kind;
  /** Undefined: all. */
  readonly names: readonly string[] | undefined;
}

async function get(session: Session, words: readonly string[], options: Options): Promise<void> {
  const groups = grouped(parseTargets(words));
  const selection = await selectionOf(session, groups, options);
  const client = await session.client();
  if (options.watch === true) {
    const [group, ...more] = groups;
    if (group === undefined || more.length > 0) throw usageError('Only one kind can be watched at a time');
    return watch(session, client, group, selection, options);
  }
  const printer = createPrinter(session, options, groups.length > 1);
  const missing: CliError[] = [];
  for (const group of groups) {
    await printer.add(group.kind, await fetchGroup(client, group, selection, missing));
  }
  await printer.end();
  const [first, ...more] = missing;
  if (first !== undefined && more.length === 0) throw first;
  if (first !== undefined) {
    throw new CliError(exitCodes.refused, `${missing.length} objects are not there`, {
      details: missing.map(({ message }) => message),
    });
  }
  if (printer.printed === 0 && !['json', 'yaml'].includes(options.output)) {
    const where = selection.scope === undefined || groups.every(isGlobal) ? '' : ` in scope ${selection.scope}`;
    session.io.err.write(`There are none${where}.\n`);
  }
}

const isGlobal = ({ kind }: Group) => namesOfKinds[kind].global;

function grouped(targets: readonly Target[]): Group[] {
  const groups = new Map<Kind, string[] | undefined>();
  for (const { kind, name } of targets) {
    groups.set(kind, name === undefined ? undefined : [...(groups.get(kind) ?? []), name]);
  }
  return [...groups].map(([kind, names]) => ({ kind, names }));
}

async function selectionOf(session: Session, groups: readonly Group[], options: Options): Promise<Selection> {
  const named = groups.some(({ names }) => names !== undefined);
  if (named && options.allScopes === true) throw usageError('A name is unique in one scope only: leave out -A');
  if (named && options.selector !== undefined) throw usageError('Objects are chosen by name or by label, not by both');
  return {
    scope: options.allScopes === true ? undefined : await scopeOf(options, session),
    labelSelector: options.selector,
  };
}

/** The objects of a group. Names that nobody has are added to `missing`, so that the others are still shown. */
async function fetchGroup(
  client: Client,
  { kind, names }: Group,
  selection: Selection,
  missing: CliError[],
): Promise<readonly WireObject[]> {
  if (names === undefined) return (await listObjects(client, kind, selection)).items;
  const found = await Promise.all(
    names.map(async (name) => {
      try {
        return await getObject(client, kind, selection.scope ?? '', name);
      } catch (error) {
        if (!isMissing(error)) throw error;
        missing.push(error);
        return undefined;
      }
    }),
  );
  return found.filter((object) => object !== undefined);
}

interface Printer {
  readonly printed: number;
  /** Prints objects of one kind, or keeps them for the end. */
  add(kind: Kind, objects: readonly WireObject[]): Promise<void>;
  end(): Promise<void>;
}

function createPrinter(session: Session, options: Options, several: boolean): Printer {
  const { io } = session;
  const kept: WireObject[] = [];
  let printed = 0;
  return {
    get printed() {
      return printed;
    },
    async add(kind, objects) {
      if (objects.length === 0) return;
      if (options.output === 'yaml' || options.output === 'json') kept.push(...objects);
      else if (options.output === 'name') io.out.write(objects.map((object) => `${nameOf(object)}\n`).join(''));
      else {
        if (printed > 0) io.out.write('\n');
        io.out.write(tableFor(session, kind, options, several).print(objects));
      }
      printed += objects.length;
    },
    async end() {
      const objects = kept.map(ordered);
      if (options.output === 'yaml') io.out.write((await Promise.all(objects.map(toYaml))).join('---\n'));
      if (options.output !== 'json') return;
      // As kubectl: the object itself where one was found, else a list.
      io.out.write(toJson(objects.length === 1 ? objects[0] : { apiVersion, kind: 'List', items: objects }));
    },
  };
}

const apiVersion = 'fairway/v1';

function nameOf({ kind, metadata }: WireObject): string {
  return `${singular(kind)}/${metadata.name}`;
}

function tableFor({ io, paint }: Session, kind: Kind, options: Options, several: boolean) {
  const columns = columnsFor(kind, {
    scopes: options.allScopes === true && !namesOfKinds[kind].global,
    prefix: several ? `${singular(kind)}/` : '',
    now: io.now(),
  });
  return createTablePrinter(columns, {
    width: io.out.columns,
    wide: options.output === 'wide',
    header: options.headers,
    paint,
  });
}

/** How long to wait before a watch that broke off is taken up again. */
const firstRetryMs = 250;
const longestRetryMs = 5000;

/** Prints the objects as they are, then each that changes, and takes the watch up again when it breaks off. */
async function watch(session: Session, client: Client, group: Group, selection: Selection, options: Options) {
  const { io } = session;
  const wanted = (object: WireObject) => group.names === undefined || group.names.includes(object.metadata.name);
  const print = createWatchPrinter(session, group.kind, options);
  const first = await listObjects(client, group.kind, selection);
  await print(first.items.filter(wanted));
  let after = first.revision;
  let retryMs = firstRetryMs;
  while (!io.signal.aborted) {
    try {
      for await (const event of watchObjects(client, group.kind, selection, after, io.signal)) {
        retryMs = firstRetryMs;
        after = later(after, event.object.metadata.revision);
        if (event.type === 'put' && wanted(event.object)) await print([event.object]);
        if (event.type === 'delete' && wanted(event.object)) await print([event.object], 'deleted');
      }
    } catch (error) {
      if (io.signal.aborted) return;
      if (error instanceof ProblemError && error.problem.code === 'RevisionCompacted') {
        const again = await listObjects(client, group.kind, selection);
        await print(again.items.filter(wanted));
        after = again.revision;
      } else if (error instanceof CliError && error.exitCode === exitCodes.unreachable) {
        if (retryMs === firstRetryMs) io.err.write(`${error.message}; trying again\n`);
      } else {
        throw error;
      }
    }
    await sleep(retryMs, undefined, { signal: io.signal }).catch(() => undefined);
    retryMs = Math.min(retryMs * 2, longestRetryMs);
  }
}

/** An event about status alone comes with the revision of the object, which is an older one. */
function later(revision: string, other: string | undefined): string {
  return other !== undefined && Number(other) > Number(revision) ? other : revision;
}

function createWatchPrinter(session: Session, kind: Kind, options: Options) {
  const { io, paint } = session;
  const table = tableFor(session, kind, options, false);
  return async (objects: readonly WireObject[], deleted?: 'deleted'): Promise<void> => {
    if (deleted !== undefined && options.output !== 'json' && options.output !== 'yaml') {
      io.out.write(objects.map((object) => `${paint('faint', `${nameOf(object)} deleted`)}\n`).join(''));
    } else if (options.output === 'yaml') {
      for (const object of objects) io.out.write(`---\n${await toYaml(ordered(object))}`);
    } else if (options.output === 'json') {
      // One line each, so that a reader can tell them apart.
      io.out.write(objects.map((object) => `${JSON.stringify(ordered(object))}\n`).join(''));
    } else if (options.output === 'name') {
      io.out.write(objects.map((object) => `${nameOf(object)}\n`).join(''));
    } else if (objects.length > 0) {
      io.out.write(table.print(objects));
    }
  };
}
