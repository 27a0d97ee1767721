import { type Command, Option } from 'commander';
import type { Tone } from '../output/colour.ts';
import { noteMissing } from '../output/missing.ts';
import { toJson, toYaml } from '../output/serialise.ts';
import { type Column, renderTable } from '../output/table.ts';
import { formatAge, printable } from '../output/text.ts';
import { examples } from '../selection.ts';
import type { Session } from '../session.ts';
import { shortType, type WireMissing, type WireProxy, type WireProxyType } from '../wire.ts';

interface Options {
  readonly output: 'table' | 'wide' | 'yaml' | 'json';
  readonly compare?: boolean;
}

export function define(command: Command, session: Session): void {
  command
    .argument('[node]', 'only this one, with all that it was sent')
    .addOption(
      new Option('-o, --output <format>', 'how to print them')
        .choices(['table', 'wide', 'yaml', 'json'])
        .default('table'),
    )
    .option('--compare', 'compare what they acknowledged with what they should have; what was lost is sent again')
    .action((node: string | undefined, options: Options) =>
      options.compare === true ? compare(session, node) : proxies(session, node, options),
    );
  examples(command, ['fairway proxies', 'fairway proxies edge-1', 'fairway proxies edge-1 --compare']);
}

/** Gathered from all controllers that answer. */
type Partly<T> = T & { readonly missing?: readonly WireMissing[] };

async function compare(session: Session, node: string | undefined): Promise<void> {
  const client = await session.client();
  const path = node === undefined ? '/v1/compare' : `/v1/proxies/${encodeURIComponent(node)}/compare`;
  const { proxies, missing } = (await client.request('POST', path)) as Partly<{ readonly proxies: number }>;
  noteMissing(session, missing);
  const compared =
    node === undefined ? `${proxies} ${proxies === 1 ? 'proxy is' : 'proxies are'}` : `${printable(node)} is`;
  session.io.out.write(`${compared} being compared; what was lost is sent again. See: fairway proxies\n`);
}

async function proxies(session: Session, node: string | undefined, options: Options): Promise<void> {
  const client = await session.client();
  const path = node === undefined ? '/v1/proxies' : `/v1/proxies/${encodeURIComponent(node)}`;
  const answer = await client.request('GET', path);
  const { io } = session;
  noteMissing(session, (answer as Partly<object>).missing);
  if (options.output === 'json') io.out.write(toJson(answer));
  else if (options.output === 'yaml') io.out.write(await toYaml(answer));
  else if (node === undefined) list(session, (answer as { readonly items: readonly WireProxy[] }).items, options);
  else detail(session, answer as WireProxy);
}

const toneOfState: Readonly<Record<string, Tone>> = {
  Synced: 'good',
  Pending: 'warning',
  Stalled: 'warning',
  Rejected: 'bad',
};

function sum(types: readonly WireProxyType[] | undefined, field: 'resources' | 'pending'): string {
  return String((types ?? []).reduce((total, type) => total + (type[field] ?? 0), 0));
}

function list(session: Session, items: readonly WireProxy[], options: Options): void {
  const { io, paint } = session;
  if (items.length === 0) {
    io.err.write('No proxy is connected. Start one with: fairway envoy --fleet NAME\n');
    return;
  }
  const columns: readonly Column<WireProxy>[] = [
    { title: 'NODE', cell: ({ node }) => node },
    { title: 'FLEET', cell: ({ fleet }) => fleet ?? '-' },
    { title: 'STATE', cell: ({ state = '-' }) => ({ text: state, tone: toneOfState[state] ?? 'plain' }) },
    { title: 'RESOURCES', cell: ({ types }) => sum(types, 'resources') },
    { title: 'PENDING', cell: ({ types }) => sum(types, 'pending') },
    { title: 'REJECTED', cell: ({ types }) => rejectedCell(types) },
    { title: 'ENVOY', cell: ({ version }) => version ?? '-' },
    { title: 'CONNECTED', cell: ({ connectedSince }) => since(connectedSince, io.now()) },
    { title: 'CONTROLLER', wide: true, shrinkTo: 8, cell: ({ replica }) => replica ?? '-' },
  ];
  io.out.write(renderTable(columns, items, { width: io.out.columns, wide: options.output === 'wide', paint }));
}

function rejectedCell(types: readonly WireProxyType[] | undefined) {
  const number = (types ?? []).reduce((total, { rejected }) => total + (rejected?.length ?? 0), 0);
  return number === 0 ? '0' : { text: String(number), tone: 'bad' as const };
}

function since(time: string | undefined, now: number): string {
  return time === undefined ? '-' : formatAge(now - Date.parse(time));
}

function detail({ io, paint }: Session, proxy: WireProxy): void {
  const { node, fleet = '-', state = '-', version = '-', connectedSince, replica = '-', types = [] } = proxy;
  const line = (label: string, value: string) => `${paint('faint', `${label}:`.padEnd(12))}${printable(value)}\n`;
  io.out.write(
    [
      line('Node', node),
      line('Fleet', fleet),
      `${paint('faint', 'State:'.padEnd(12))}${paint(toneOfState[state] ?? 'plain', printable(state))}\n`,
      line('Envoy', version),
      line('Connected', since(connectedSince, io.now())),
      line('Controller', replica),
      '\n',
    ].join(''),
  );
  const columns: readonly Column<WireProxyType>[] = [
    { title: 'TYPE', cell: ({ type }) => shortType(type) },
    { title: 'RESOURCES', cell: ({ resources }) => String(resources ?? 0) },
    { title: 'PENDING', cell: ({ pending }) => String(pending ?? 0) },
    { title: 'SENT', cell: ({ sent }) => atRevision(sent) },
    { title: 'ACKED', cell: ({ acked }) => atRevision(acked) },
    { title: 'REJECTED', cell: (type) => rejectedCell([type]) },
  ];
  io.out.write(renderTable(columns, types, { width: io.out.columns, paint }));
  for (const { type, rejected = [] } of types) {
    for (const { name, message, since: from } of rejected) {
      const age = from === undefined ? '' : `, ${since(from, io.now())} ago`;
      io.out.write(
        `\n${paint('bad', `${shortType(type)} ${printable(name)} was rejected${age}`)}\n  ${printable(message)}\n`,
      );
    }
  }
}

function atRevision(revision: number | undefined): string {
  return revision === undefined ? '-' : `at ${revision}`;
}
