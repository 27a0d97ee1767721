import type { Command } from 'commander';
import { formatDuration, parseDuration } from '../../lib/duration.ts';
import { usageError } from '../failure.ts';
import { renderTable } from '../output/table.ts';
import { examples } from '../selection.ts';
import type { Session } from '../session.ts';

interface CreateOptions {
  readonly node?: string;
  readonly fleet?: string;
  readonly ttl?: string;
}

interface WireJoinToken {
  readonly id: string;
  readonly node: string;
  readonly fleet: string;
  readonly expires: string;
  readonly token?: string;
}

export function define(command: Command, session: Session): void {
  command
    .command('create')
    .description('make a token by which one node may join one fleet, once; it is printed and told nowhere else')
    .option('--node <name>', 'node that is to join')
    .option('--fleet <name>', 'fleet that it joins')
    .option('--ttl <duration>', 'how long it can be used (default: 1h)')
    .action((options: CreateOptions) => create(session, options));
  command
    .command('list')
    .description('show the join tokens that can still be used')
    .action(() => list(session));
  command
    .command('delete')
    .description('take a join token back')
    .argument('<id>', 'as the list shows it')
    .action((id: string) => remove(session, id));
  examples(command, [
    'fairway token create --node edge-1 --fleet edge --ttl 1h',
    'fairway token list',
    'FAIRWAY_JOIN_TOKEN=$(fairway token create --node edge-1 --fleet edge) fairway envoy',
  ]);
}

async function create(session: Session, { node, fleet, ttl }: CreateOptions): Promise<void> {
  if (node === undefined || fleet === undefined) {
    throw usageError('A join token is for one node of one fleet', 'Name both: --node NAME --fleet NAME.');
  }
  if (ttl !== undefined && parseDuration(ttl) === undefined) throw usageError(`"${ttl}" is no duration such as 1h`);
  const client = await session.client();
  const body = { node, fleet, ...(ttl === undefined ? {} : { expiresIn: ttl }) };
  const made = (await client.request('POST', '/v1/join-tokens', { body })) as WireJoinToken;
  const { io } = session;
  // The token alone on standard output, so that a script can take it.
  io.out.write(`${made.token}\n`);
  io.err.write(
    `For the node ${made.node} of the fleet ${made.fleet}, once, for the next ${left(made.expires, io.now())}.\n`,
  );
}

async function list(session: Session): Promise<void> {
  const client = await session.client();
  const { items } = (await client.request('GET', '/v1/join-tokens')) as { readonly items: readonly WireJoinToken[] };
  const { io, paint } = session;
  if (items.length === 0) {
    io.err.write('There are no join tokens that could still be used.\n');
    return;
  }
  io.out.write(
    renderTable(
      [
        { title: 'ID', cell: ({ id }: WireJoinToken) => id },
        { title: 'NODE', cell: ({ node }) => node },
        { title: 'FLEET', cell: ({ fleet }) => fleet },
        { title: 'EXPIRES IN', cell: ({ expires }) => left(expires, io.now()) },
      ],
      items,
      { width: io.out.columns, paint },
    ),
  );
}

async function remove(session: Session, id: string): Promise<void> {
  const client = await session.client();
  await client.request('DELETE', `/v1/join-tokens/${encodeURIComponent(id)}`);
  session.io.err.write(`The join token ${id} can no longer be used.\n`);
}

/** In whole seconds. */
function left(expires: string, now: number): string {
  return formatDuration(Math.max(0, Math.round((Date.parse(expires) - now) / 1000) * 1000));
}
