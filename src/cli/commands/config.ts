import { readFile } from 'node:fs/promises';
import { type Command, Option } from 'commander';
import { CliError, exitCodes, usageError } from '../failure.ts';
import { unifiedDiff } from '../output/diff.ts';
import { toJson, toYaml } from '../output/serialise.ts';
import { printable } from '../output/text.ts';
import { examples } from '../selection.ts';
import type { Session } from '../session.ts';
import { shortType, type WireProxyConfig, type WireProxyResource } from '../wire.ts';

interface DumpOptions {
  readonly type?: string;
  readonly output: 'yaml' | 'json';
}

interface DiffOptions {
  readonly dump?: string;
}

export function define(command: Command, session: Session): void {
  command
    .command('dump')
    .description('print the resources that a proxy should have, with their content')
    .argument('<node>', 'a connected proxy')
    .option('--type <type>', 'only this type: Cluster, Listener, RouteConfiguration, …')
    .addOption(new Option('-o, --output <format>', 'how to print them').choices(['yaml', 'json']).default('yaml'))
    .action((node: string, options: DumpOptions) => dump(session, node, options));
  command
    .command('diff')
    .description(
      "compare two proxies, or a proxy's own config dump with what it should have; exit code 1 when they differ",
    )
    .argument('<node>', 'a connected proxy')
    .argument('[other]', 'another one')
    .option('--dump <file or url>', "Envoy's config dump: a file, or its admin address such as http://127.0.0.1:9901")
    .action((node: string, other: string | undefined, options: DiffOptions) => diff(session, node, other, options));
  examples(command, [
    'fairway config dump edge-1 --type Cluster',
    'fairway config diff edge-1 edge-2',
    'fairway config diff edge-1 --dump http://127.0.0.1:9901',
  ]);
}

async function configOf(session: Session, node: string, type?: string): Promise<readonly WireProxyResource[]> {
  const client = await session.client();
  const query = new URLSearchParams({ content: 'true', ...(type === undefined ? {} : { type }) });
  const path = `/v1/proxies/${encodeURIComponent(node)}/config?${query}`;
  return ((await client.request('GET', path)) as WireProxyConfig).items;
}

async function dump(session: Session, node: string, { type, output }: DumpOptions): Promise<void> {
  const items = await configOf(session, node, type);
  session.io.out.write(output === 'json' ? toJson(items) : await toYaml(items));
}

/** One side of a comparison: `Cluster default/web` → its text. */
type Side = ReadonlyMap<string, string>;

async function diff(session: Session, node: string, other: string | undefined, options: DiffOptions): Promise<void> {
  if ((other === undefined) === (options.dump === undefined)) {
    throw usageError(
      'Something to compare with is needed',
      'Name another node, or give --dump FILE or --dump http://HOST:PORT.',
    );
  }
  const mine = sideOf(await configOf(session, node));
  const theirs =
    other === undefined ? envoySide(await readDump(options.dump as string)) : sideOf(await configOf(session, other));
  // A dump of Envoy has no assignments unless it is asked for them: what it does not tell cannot differ.
  const told = other === undefined ? new Set([...theirs.keys()].map((key) => key.split(' ')[0])) : undefined;
  const names = [...new Set([...mine.keys(), ...theirs.keys()])].sort();
  const compared = names.filter((name) => told === undefined || told.has(name.split(' ')[0]));
  const { io, paint } = session;
  let differences = 0;
  for (const name of compared) {
    const text = unifiedDiff(mine.get(name) ?? '', theirs.get(name) ?? '', paint);
    if (text === '') continue;
    differences += 1;
    io.out.write(`${paint('strong', printable(name))}\n${text}\n`);
  }
  if (differences > 0) session.exitCode = exitCodes.refused;
  else io.err.write(`No difference in ${compared.length} resources.\n`);
}

function sideOf(items: readonly WireProxyResource[]): Side {
  return new Map(
    items
      .filter(({ content }) => content !== undefined)
      .map(({ type, name, content }) => [`${shortType(type)} ${name}`, pretty(content)]),
  );
}

/** Sorted keys, so that the order in which two programs write the same thing does not count. */
function pretty(value: unknown): string {
  return JSON.stringify(sorted(value), undefined, 2);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(
    ([key]) => key !== '@type' || 'value' in value || Object.keys(value).length > 1,
  );
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, inner]) => [key, sorted(inner)]));
}

async function readDump(place: string): Promise<unknown> {
  const url = /^https?:\/\//.test(place) ? new URL('/config_dump?include_eds', place) : undefined;
  const text = url === undefined ? await readFile(place, 'utf8').catch(unreadable(place)) : await fetchText(url);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new CliError(exitCodes.usage, `${place} is no config dump of Envoy: it is not JSON`, { cause });
  }
}

function unreadable(place: string): (cause: unknown) => never {
  return (cause) => {
    throw new CliError(exitCodes.usage, `${place} cannot be read`, { cause });
  };
}

async function fetchText(url: URL): Promise<string> {
  const answer = await fetch(url).catch((cause: unknown) => {
    throw new CliError(exitCodes.unreachable, `No Envoy answers at ${url.origin}`, { cause });
  });
  return answer.text();
}

type Json = Readonly<Record<string, unknown>>;

/** Where a config dump keeps resources of each type: list, then the resource itself. */
const places: readonly {
  readonly list: string;
  readonly path: readonly string[];
  readonly type: string;
  readonly name: string;
}[] = [
  { list: 'dynamic_active_clusters', path: ['cluster'], type: 'Cluster', name: 'name' },
  { list: 'dynamic_warming_clusters', path: ['cluster'], type: 'Cluster', name: 'name' },
  { list: 'dynamic_listeners', path: ['active_state', 'listener'], type: 'Listener', name: 'name' },
  { list: 'dynamic_route_configs', path: ['route_config'], type: 'RouteConfiguration', name: 'name' },
  { list: 'dynamic_active_secrets', path: ['secret'], type: 'Secret', name: 'name' },
];

function envoySide(dumped: unknown): Side {
  const side = new Map<string, string>();
  for (const section of listAt(dumped as Json, 'configs')) {
    for (const { list, path, type, name } of places) {
      for (const item of listAt(section, list)) {
        const found = path.reduce<unknown>((value, key) => (value as Json | undefined)?.[key], item) as
          | Json
          | undefined;
        if (found === undefined) continue;
        const { '@type': _, ...content } = found;
        side.set(`${type} ${String(content[name])}`, pretty(content));
      }
    }
  }
  return side;
}

function listAt(value: Json | undefined, key: string): readonly Json[] {
  const list = value?.[key];
  return Array.isArray(list) ? list : [];
}
