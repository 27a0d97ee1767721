import { type Command, Option } from 'commander';
import { toJson, toYaml } from '../output/serialise.ts';
import { type Column, renderTable } from '../output/table.ts';
import { printable } from '../output/text.ts';
import { examples } from '../selection.ts';
import type { Session } from '../session.ts';
import { objectQuery, objectWords } from '../subject.ts';
import type { WireAuditRecord } from '../wire.ts';

interface Options {
  readonly scope?: string;
  readonly who?: string;
  readonly outcome?: string;
  readonly since?: string;
  readonly until?: string;
  readonly limit: string;
  readonly output: 'table' | 'wide' | 'yaml' | 'json';
}

export function define(command: Command, session: Session): void {
  command
    .argument('[object]', 'only what concerns this kind, or this object: KIND or KIND/NAME')
    .option('-n, --scope <scope>', 'only what concerns objects in this scope')
    .option('--who <name>', 'only what this one did, or was refused')
    .addOption(new Option('--outcome <outcome>', 'only what ended so').choices(['accepted', 'refused', 'failed']))
    .option('--since <time>', 'only from then on: 1h30m (ago), or 2030-01-31T12:00:00Z')
    .option('--until <time>', 'only until then')
    .option('--limit <number>', 'at most so many, the newest ones', '100')
    .addOption(
      new Option('-o, --output <format>', 'how to print them; wide: with what changed')
        .choices(['table', 'wide', 'yaml', 'json'])
        .default('table'),
    )
    .action((object: string | undefined, options: Options) => audit(session, object, options));
  examples(command, [
    'fairway audit',
    'fairway audit vs/shop -o wide',
    'fairway audit --outcome refused --since 24h',
    'fairway audit --who ada -o json',
  ]);
}

/** Largest page that a server gives. */
const pageLimit = 500;

async function audit(session: Session, object: string | undefined, options: Options): Promise<void> {
  const { io } = session;
  const records = (await fetchRecords(session, object, options)).reverse();
  if (options.output === 'json') io.out.write(toJson(records));
  else if (options.output === 'yaml') io.out.write(await toYaml(records));
  else if (records.length === 0) io.err.write('There are no records of that.\n');
  else print(session, records, options.output === 'wide');
}

/** Newest first. */
async function fetchRecords(session: Session, object: string | undefined, options: Options) {
  const { scope, who, outcome, since, until, limit } = options;
  const client = await session.client();
  const records: WireAuditRecord[] = [];
  let token: string | undefined;
  do {
    // What is no number is for the server to refuse.
    const left = Number(limit) - records.length;
    const page = Number.isInteger(left) ? Math.min(left, pageLimit) : limit;
    const query = { ...objectQuery(object), scope, who, outcome, since, until, limit: page, continue: token };
    const answer = (await client.request('GET', '/v1/audit', { query })) as {
      readonly metadata: { readonly continue?: string };
      readonly items: readonly WireAuditRecord[];
    };
    records.push(...answer.items);
    token = answer.metadata.continue;
  } while (token !== undefined && records.length < Number(limit));
  return records;
}

function print({ io, paint }: Session, records: readonly WireAuditRecord[], wide: boolean): void {
  const columns: readonly Column<WireAuditRecord>[] = [
    { title: 'TIME', cell: ({ at }) => at },
    { title: 'WHO', shrinkTo: 10, cell: ({ who }) => who.name },
    { title: 'FROM', cell: ({ from }) => from },
    { title: 'OUTCOME', cell: (record) => outcomeCell(record) },
    { title: 'OBJECTS', shrinkTo: 24, cell: (record) => objectsCell(record) },
    { title: 'REQUEST', wide: true, cell: ({ request }) => request },
    { title: 'REQUEST ID', wide: true, cell: ({ requestId }) => requestId },
  ];
  if (!wide) {
    io.out.write(renderTable(columns, records, { width: io.out.columns, paint }));
    return;
  }
  for (const record of records) {
    io.out.write(renderTable(columns, [record], { width: undefined, wide, header: false, paint }));
    if (record.detail) io.out.write(`    ${printable(record.detail)}\n`);
    for (const { fields = [], cut = 0 } of record.objects) {
      for (const { path, before, after } of fields) {
        io.out.write(`    ${printable(path)}: ${paint('bad', text(before))} → ${paint('good', text(after))}\n`);
      }
      if (cut > 0) io.out.write(`    and ${cut} fields more, which are too large to be kept here\n`);
    }
  }
}

function text(value: unknown): string {
  return value === undefined ? 'nothing' : printable(JSON.stringify(value));
}

function outcomeCell({ outcome, code, count = 1 }: WireAuditRecord) {
  const times = count > 1 ? ` ${count} times` : '';
  if (outcome === 'accepted') return outcome;
  return { text: `${outcome}${times}${code === undefined ? '' : `: ${code}`}`, tone: 'warning' as const };
}

function objectsCell({ objects, request }: WireAuditRecord): string {
  const [first, ...others] = objects;
  if (first === undefined) return request;
  const more = others.length === 0 ? '' : `, and ${others.length} more`;
  return `${objectWords(first)}${first.change === undefined ? '' : ` ${first.change}`}${more}`;
}
