import type { Command } from 'commander';
import type { ErrorCode } from '../../lib/errors.ts';
import { kindNames } from '../../model/kind.ts';
import { ProblemError } from '../client.ts';
import { firstFault } from '../columns.ts';
import { exitCodes } from '../failure.ts';
import { singular } from '../kind-words.ts';
import { listObjects } from '../objects.ts';
import { noteMissing } from '../output/missing.ts';
import { type Column, renderTable } from '../output/table.ts';
import { count, formatAge, oneLine } from '../output/text.ts';
import type { Session } from '../session.ts';
import type { WireController, WireMissing, WireObject, WireProxy } from '../wire.ts';

export function define(command: Command, session: Session): void {
  command.action(() => status(session));
}

/** Of a server that has one. */
interface WireAuthority {
  readonly source: 'Own' | 'Files';
  readonly notAfter: string;
  readonly expiring: boolean;
}

interface WireProxies {
  readonly items: readonly WireProxy[];
  readonly missing?: readonly WireMissing[];
}

async function unless<T, U>(code: ErrorCode, asked: Promise<T>, otherwise: U): Promise<T | U> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof ProblemError && error.problem.code === code) return otherwise;
    throw error;
  }
}

function ifAllowed<T, U>(asked: Promise<T>, otherwise: U): Promise<T | U> {
  return unless('Forbidden', asked, otherwise);
}

/** So many faults are named; `fairway get` has the rest. */
const maxNamed = 20;

async function status(session: Session): Promise<void> {
  const { io, paint } = session;
  const client = await session.client();
  const ready = await client.probe('/readyz');
  const line = (label: string, value: string) => io.out.write(`${paint('faint', `${label}:`.padEnd(10))}${value}\n`);
  const isReady = ready.status === 200;
  line('Server', `${client.server} ${paint(isReady ? 'good' : 'bad', isReady ? 'ready' : 'not ready')}`);
  if (!isReady) {
    io.out.write(`${oneLine(ready.text)}\n`);
    session.exitCode = exitCodes.unreachable;
    return;
  }
  // What may not be seen is passed over, so that everybody is told of what is theirs.
  const lists = await Promise.all(
    kindNames.map((kind) => ifAllowed(listObjects(client, kind, { scope: undefined }), { items: [], revision: '0' })),
  );
  const revision = lists.reduce((newest, list) => Math.max(newest, Number(list.revision)), 0);
  line('Revision', String(revision));
  const answered = await ifAllowed(client.request('GET', '/v1/controllers'), undefined);
  const controllers = (answered as { readonly items: readonly WireController[] } | undefined)?.items;
  line('Leader', controllers === undefined ? 'not yours to see' : leaderWords(controllers, session));
  const authority = await unless('NotFound', client.request('GET', '/v1/ca'), undefined);
  if (authority !== undefined) line('CA', authorityWords(authority as WireAuthority, session));
  const proxies = await ifAllowed(client.request('GET', '/v1/proxies'), undefined);
  line('Proxies', proxies === undefined ? 'not yours to see' : proxyWords((proxies as WireProxies).items));
  noteMissing(session, (proxies as WireProxies | undefined)?.missing);
  const objects = lists.flatMap(({ items }) => items);
  const faulty = objects.filter(isFaulty);
  line(
    'Objects',
    `${objects.length}, ${faulty.length === 0 ? paint('good', 'all well') : paint('bad', `${faulty.length} not well`)}`,
  );
  for (const object of faulty.slice(0, maxNamed)) io.out.write(`  ${faultWords(object, session)}\n`);
  if (faulty.length > maxNamed) io.out.write(`  … and ${count(faulty.length - maxNamed, 'more', 'more')}\n`);
  if (controllers === undefined) return;
  io.out.write(`\n${renderTable(controllerColumns(io.now()), controllers, { width: io.out.columns, paint })}`);
}

/** Waiting is no fault: what is not known yet, or has no proxy that could know. */
function isFaulty(object: WireObject): boolean {
  return (object.status?.conditions ?? []).some(({ status, reason }) => status === 'False' && reason !== 'Pending');
}

function proxyWords(proxies: readonly WireProxy[]): string {
  if (proxies.length === 0) return 'none connected';
  const states = new Map<string, number>();
  for (const { state = 'unknown' } of proxies) states.set(state, (states.get(state) ?? 0) + 1);
  return `${proxies.length} (${[...states].map(([state, number]) => `${number} ${oneLine(state)}`).join(', ')})`;
}

function faultWords(object: WireObject, { paint }: Session): string {
  const { metadata, kind } = object;
  const fault = firstFault(object);
  const where = metadata.scope === undefined ? '' : `${metadata.scope}/`;
  return `${singular(kind)} ${where}${metadata.name}: ${paint('bad', fault?.reason ?? '')} ${oneLine(fault?.message ?? '')}`;
}

/** What signs for nodes and controllers, and until when. */
function authorityWords({ source, notAfter, expiring }: WireAuthority, { io, paint }: Session): string {
  const left = formatAge(Date.parse(notAfter) - io.now());
  const words = `${source === 'Files' ? 'from outside, in files' : 'own root'}, good for ${left}`;
  return expiring ? paint('bad', `${words}: replace it`) : words;
}

/** Of a cluster: who leads, since when. */
function leaderWords(controllers: readonly WireController[], { io, paint }: Session): string {
  const leader = controllers.find((controller) => controller.leader === true);
  if (leader === undefined) return paint('warning', 'none: nothing new is decided until there is one');
  const since = leader.leaderSince === undefined ? '' : `, for ${formatAge(io.now() - Date.parse(leader.leaderSince))}`;
  return `${oneLine(leader.id)}, term ${leader.term ?? '-'}${since}`;
}

const controllerColumns = (now: number): readonly Column<WireController>[] => [
  { title: 'CONTROLLER', cell: ({ id }) => oneLine(id) },
  {
    title: 'STATE',
    cell: ({ state = '-' }) => ({ text: oneLine(state), tone: state === 'Ready' ? 'good' : 'bad' }),
  },
  { title: 'ROLES', cell: ({ roles = [] }) => oneLine(roles.join(',')) },
  { title: 'REVISION', cell: ({ revision = '-' }) => oneLine(revision) },
  { title: 'LAG', cell: ({ lag = 0 }) => String(lag) },
  { title: 'PROXIES', cell: ({ proxies = 0 }) => String(proxies) },
  { title: 'MEMORY', cell: ({ memoryBytes = 0 }) => `${Math.round(memoryBytes / 2 ** 20)} MiB` },
  { title: 'CPU', cell: ({ cpu = 0 }) => `${Math.round(cpu * 100)} %` },
  { title: 'VERSION', cell: ({ version = '-' }) => oneLine(version) },
  { title: 'AGE', cell: ({ startedAt }) => (startedAt === undefined ? '-' : formatAge(now - Date.parse(startedAt))) },
];
