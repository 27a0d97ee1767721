import { type Command, Option } from 'commander';
import { parseDuration } from '../../lib/duration.ts';
import { usageError } from '../failure.ts';
import { createJoinToken, deleteJoinToken, type JoinTokenOptions, listJoinTokens } from '../membership/tokens.ts';
import { toJson, toYaml } from '../output/serialise.ts';
import { renderTable } from '../output/table.ts';
import { formatAge } from '../output/text.ts';
import { examples } from '../selection.ts';
import type { Session } from '../session.ts';
import type { WireToken } from '../wire.ts';

export function define(command: Command, session: Session): void {
  const creating = command
    .command('create')
    .description(
      'make an API token, or one by which one node may join one fleet, once; its text is printed and kept nowhere',
    )
    .argument('[name]', 'what an API token is called in role bindings')
    .option('--node <name>', 'make a join token: for this node')
    .option('--fleet <name>', 'of this fleet')
    .option('--ttl <duration>', 'how long it is good for (default: an API token until it is deleted, a join token 1h)')
    .action((name: string | undefined, options: CreateOptions) => create(session, name, options));
  examples(creating, [
    'FAIRWAY_TOKEN=$(fairway token create ci --ttl 12h)',
    'FAIRWAY_JOIN_TOKEN=$(fairway token create --node edge-1 --fleet edge) fairway envoy',
  ]);
  command
    .command('list')
    .description('show the tokens, without what is secret')
    .option('--join', 'those by which nodes may still join')
    .addOption(
      new Option('-o, --output <format>', 'how to print them').choices(['table', 'yaml', 'json']).default('table'),
    )
    .action(({ output, join }: { readonly output: string; readonly join?: boolean }) =>
      join === true ? listJoinTokens(session) : list(session, output),
    );
  command
    .command('delete')
    .description('take tokens back: they are refused from then on')
    .argument('<id...>', 'ids, as list shows them')
    .action((ids: readonly string[]) => remove(session, ids));
  examples(command, [
    'fairway token create ci',
    'fairway token create --node edge-1 --fleet edge --ttl 1h',
    'fairway token list',
    'fairway token list --join',
    'fairway token delete 4k9w2m0x7c1p',
  ]);
}

interface CreateOptions extends JoinTokenOptions {
  readonly ttl?: string;
}

function create(session: Session, name: string | undefined, options: CreateOptions): Promise<void> {
  const isForNode = options.node !== undefined || options.fleet !== undefined;
  if (name === undefined && !isForNode) {
    throw usageError('Whom is the token for?', 'Give a name, or --node and --fleet for one by which a node joins.');
  }
  if (name !== undefined && isForNode) throw usageError('A join token has no name besides that of its node');
  return name === undefined ? createJoinToken(session, options) : createToken(session, name, options.ttl);
}

/** The token alone goes to standard output, so that it can be put where it belongs without being seen. */
async function createToken(session: Session, name: string, expiresIn: string | undefined): Promise<void> {
  if (expiresIn !== undefined && parseDuration(expiresIn) === undefined) {
    throw usageError(`"${expiresIn}" is no duration such as 30m or 720h`);
  }
  const client = await session.client();
  const body = { name, ...(expiresIn === undefined ? {} : { expiresIn }) };
  const made = (await client.request('POST', '/v1/tokens', { body })) as WireToken & { readonly token: string };
  session.io.err.write(`token/${made.id} created for ${made.name}; it is not shown again\n`);
  session.io.out.write(`${made.token}\n`);
}

async function list(session: Session, output: string): Promise<void> {
  const { io, paint } = session;
  const client = await session.client();
  const { items } = (await client.request('GET', '/v1/tokens')) as { readonly items: readonly WireToken[] };
  if (output === 'json') io.out.write(toJson(items));
  else if (output === 'yaml') io.out.write(await toYaml(items));
  else if (items.length === 0) io.err.write('There are none. Make one with: fairway token create NAME\n');
  else {
    const now = io.now();
    const columns = [
      { title: 'ID', cell: ({ id }: WireToken) => id },
      { title: 'NAME', cell: ({ name }: WireToken) => name },
      { title: 'CREATED-BY', cell: ({ createdBy = '-' }: WireToken) => createdBy },
      { title: 'AGE', cell: ({ createdAt }: WireToken) => ageOf(createdAt, now) },
      { title: 'EXPIRES', cell: ({ expiresAt }: WireToken) => expiryOf(expiresAt, now) },
    ];
    io.out.write(renderTable(columns, items, { width: io.out.columns, paint }));
  }
}

function ageOf(at: string | undefined, now: number): string {
  return at === undefined ? '-' : formatAge(now - Date.parse(at));
}

function expiryOf(at: string | undefined, now: number) {
  if (at === undefined) return 'never';
  const leftMs = Date.parse(at) - now;
  return leftMs > 0 ? `in ${formatAge(leftMs)}` : { text: 'expired', tone: 'bad' as const };
}

/** Those of join tokens are longer. */
const apiTokenId = /^[0-9a-z]{12}$/;

async function remove(session: Session, ids: readonly string[]): Promise<void> {
  const client = await session.client();
  for (const id of ids) {
    if (!apiTokenId.test(id)) {
      await deleteJoinToken(session, id);
      continue;
    }
    await client.request('DELETE', `/v1/tokens/${encodeURIComponent(id)}`);
    session.io.out.write(`token/${id} deleted\n`);
  }
}
