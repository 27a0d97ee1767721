import { type Command, Option } from 'commander';
import { requestApply } from '../apply-request.ts';
import { CliError, exitCodes } from '../failure.ts';
import { singular } from '../kind-words.ts';
import { describeFault, type ManifestObject, readManifests } from '../manifests.ts';
import type { Tone } from '../output/colour.ts';
import { count, oneLine } from '../output/text.ts';
import {
  confirmOption,
  examples,
  fileOption,
  parseTimeout,
  pruneOption,
  pruneQuery,
  type ScopeOptions,
  scopeOf,
  scopeOption,
  selectorOption,
} from '../selection.ts';
import type { Session } from '../session.ts';
import { settled, waitForAll } from '../waiting.ts';
import type { WireFailure, WireObject, WireOutcome } from '../wire.ts';

interface Options extends ScopeOptions {
  readonly filename: readonly string[];
  readonly prune?: boolean;
  readonly selector?: string;
  readonly dryRun?: boolean;
  readonly atomic: boolean;
  readonly force?: boolean;
  readonly confirmRemovals?: string;
  readonly wait?: boolean;
  readonly timeout: number;
}

export function define(command: Command, session: Session): void {
  command
    .addOption(fileOption().makeOptionMandatory())
    .addOption(scopeOption())
    .addOption(pruneOption())
    .addOption(selectorOption())
    .option('--dry-run', 'say what would become of each object, and change nothing')
    .option('--no-atomic', 'each object by itself instead of all or none; for more than 50')
    .option('--force', 'prune objects that others refer to; they get a condition')
    .addOption(confirmOption())
    .option('--wait', 'wait until every object is Programmed')
    .addOption(
      new Option('--timeout <duration>', 'how long --wait waits').argParser(parseTimeout).default(30_000, '30s'),
    )
    .action((options: Options) => apply(session, options));
  examples(command, [
    'fairway apply -f envoy/examples/shop.yaml',
    'cat shop.yaml | fairway apply -f - --wait',
    'fairway apply -f manifests/ --prune -l team=web',
  ]);
}

/** An object is there after an atomic apply, with its status. */
type Result = (WireOutcome & { readonly object?: WireObject }) | WireFailure;

const tones: Readonly<Record<WireOutcome['outcome'], Tone>> = {
  created: 'good',
  updated: 'warning',
  unchanged: 'faint',
  deleted: 'bad',
};

async function apply(session: Session, options: Options): Promise<void> {
  const { io, paint } = session;
  const scope = await scopeOf(options, session);
  const objects = await readManifests(options.filename, io, scope);
  const client = await session.client();
  const { objects: results } = (await requestApply(client, objects, {
    ...pruneQuery(options),
    dryRun: options.dryRun,
    atomic: options.atomic ? undefined : false,
    force: options.force,
    confirmRemovals: options.confirmRemovals,
  })) as { readonly objects: readonly Result[] };

  const done = results.filter((result) => result.outcome !== 'failed');
  const note = options.dryRun === true ? ' (dry run)' : '';
  for (const { kind, name, outcome } of done) {
    io.out.write(`${singular(kind)}/${name} ${paint(tones[outcome], outcome)}${note}\n`);
  }
  const failed = results.filter((result) => result.outcome === 'failed');
  if (failed.length > 0) {
    throw new CliError(exitCodes.refused, `${count(failed.length, 'object')} could not be applied`, {
      details: failed.map(({ pointer, problem }) => failureWords(objects, pointer, problem.detail ?? problem.title)),
    });
  }
  if (options.dryRun === true) return;
  for (const { object } of done) warnOf(session, object);
  if (options.wait !== true) return;
  const awaited = done
    .filter(({ kind, outcome }) => outcome !== 'deleted' && kind !== 'Scope' && kind !== 'Node')
    .map(({ kind, name, ...rest }) => ({ kind, scope: rest.scope ?? scope, name }));
  await waitForAll(client, io, awaited, settled, options.timeout);
}

function failureWords(objects: readonly ManifestObject[], pointer = '', words = 'it failed'): string {
  const object = objects[Number(pointer.slice(1))];
  return object === undefined ? words : describeFault(object, { pointer: '', message: words });
}

/** What is wrong with an object that was taken all the same: a reference to nothing, an address that another has. */
function warnOf({ io, paint }: Session, object: WireObject | undefined): void {
  if (object === undefined) return;
  for (const { type, status, reason, message } of object.status?.conditions ?? []) {
    if (status !== 'False' || type === 'Programmed') continue;
    const label = `${singular(object.kind)}/${object.metadata.name}`;
    io.err.write(`${paint('warning', 'warning:')} ${label}: ${type} is False, ${reason}: ${oneLine(message)}\n`);
  }
}
