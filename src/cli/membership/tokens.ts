import { formatDuration, parseDuration } from '../../lib/duration.ts';
import { usageError } from '../failure.ts';
import { renderTable } from '../output/table.ts';
import type { Session } from '../session.ts';

/** Join tokens, as `fairway token` deals with them. */

export interface JoinTokenOptions {
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

export async function createJoinToken(session: Session, { node, fleet, ttl }: JoinTokenOptions): Promise<void> {
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

export async function listJoinTokens(session: Session): Promise<void> {
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

export async function deleteJoinToken(session: Session, id: string): Promise<void> {
  const client = await session.client();
  await client.request('DELETE', `/v1/join-tokens/${encodeURIComponent(id)}`);
  session.io.err.write(`The join token ${id} can no longer be used.\n`);
}

/** In whole seconds. */
function left(expires: string, now: number): string {
  return formatDuration(Math.max(0, Math.round((Date.parse(expires) - now) / 1000) * 1000));
}
