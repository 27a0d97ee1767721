import type { Command } from 'commander';
import type { Kind } from '../../model/kind.ts';
import { requestApply } from '../apply-request.ts';
import { CliError, exitCodes } from '../failure.ts';
import { singular } from '../kind-words.ts';
import { readManifests } from '../manifests.ts';
import type { Paint, Tone } from '../output/colour.ts';
import { unifiedDiff } from '../output/diff.ts';
import { toYaml, withoutServerFields } from '../output/serialise.ts';
import { count, oneLine } from '../output/text.ts';
import {
  examples,
  fileOption,
  pruneOption,
  pruneQuery,
  type ScopeOptions,
  scopeOf,
  scopeOption,
  selectorOption,
} from '../selection.ts';
import type { Session } from '../session.ts';
import type { WirePreview, WireResource } from '../wire.ts';

interface Options extends ScopeOptions {
  readonly filename: readonly string[];
  readonly prune?: boolean;
  readonly selector?: string;
}

export function define(command: Command, session: Session): void {
  command
    .addOption(fileOption().makeOptionMandatory())
    .addOption(scopeOption())
    .addOption(pruneOption())
    .addOption(selectorOption())
    .addHelpText('after', '\nExit code: 0 no difference, 1 a difference, more when it could not be found out.')
    .action((options: Options) => diff(session, options));
  examples(command, ['fairway diff -f envoy/examples/shop.yaml', 'fairway diff -f manifests/ --prune -l team=web']);
}

async function diff(session: Session, options: Options): Promise<void> {
  const preview = await fetchPreview(session, options);
  const text = await renderPreview(preview, session.paint);
  session.io.out.write(text);
  session.exitCode = text === '' ? exitCodes.ok : 1;
}

async function fetchPreview(session: Session, options: Options): Promise<WirePreview> {
  try {
    const objects = await readManifests(options.filename, session.io, await scopeOf(options, session));
    const query = { dryRun: true, ...pruneQuery(options) };
    return (await requestApply(await session.client(), objects, query)) as WirePreview;
  } catch (error) {
    // 1 means that there is a difference.
    if (!(error instanceof CliError) || error.exitCode !== exitCodes.refused) throw error;
    const { message, details, hint, requestId } = error;
    throw new CliError(exitCodes.usage, message, { details, hint, requestId, cause: error });
  }
}

/** What a dry run found, for people; empty when nothing would change. */
export async function renderPreview(preview: WirePreview, paint: Paint): Promise<string> {
  const changed = preview.objects.filter(({ outcome }) => outcome !== 'unchanged');
  const objects = await Promise.all(changed.map((object) => renderObject(object, paint)));
  const consequences = [
    ...renderConditions(preview, paint),
    ...renderResources(preview, paint),
    ...renderProxies(preview, paint),
  ];
  if (changed.length === 0 && consequences.length === 0) return '';
  return [...objects, ...consequences].join('');
}

const headings = { created: 'would be created', updated: 'would change', deleted: 'would be deleted' } as const;

async function renderObject(object: WirePreview['objects'][number], paint: Paint): Promise<string> {
  const { kind, scope, name, outcome, before, after } = object;
  if (outcome === 'unchanged') return '';
  const title = titleOf({ kind, scope, name });
  const [old = '', next = ''] = await Promise.all(
    [before, after].map((one) => (one === undefined ? '' : toYaml(withoutServerFields(one)))),
  );
  const body = unifiedDiff(old, next, paint);
  const head = [
    `${paint('strong', `${title} ${headings[outcome]}`)}\n`,
    `${paint('bad', `--- ${before === undefined ? '/dev/null' : title}`)}\n`,
    `${paint('good', `+++ ${after === undefined ? '/dev/null' : title}`)}\n`,
  ];
  // A key may differ, and is shown to nobody.
  return `${head.join('')}${body === '' ? 'Only what is never shown differs.\n' : body}\n`;
}

/** `virtual-service default/shop`. */
function titleOf({
  kind,
  scope,
  name,
}: {
  readonly kind: Kind;
  readonly scope: string | undefined;
  readonly name: string;
}) {
  return oneLine(`${singular(kind)} ${scope === undefined ? '' : `${scope}/`}${name}`);
}

/** The parts of `VirtualService/default/shop` or `Fleet/edge`. */
function parseKey(key: string) {
  const [kind = '', first = '', second] = key.split('/');
  return second === undefined
    ? { kind: kind as Kind, scope: undefined, name: first }
    : { kind: kind as Kind, scope: first, name: second };
}

function renderConditions({ conditions = [] }: WirePreview, paint: Paint): string[] {
  const lines = conditions.flatMap(({ key, before, after }) =>
    after.flatMap((now) => {
      const was = before.find(({ type }) => type === now.type);
      if (was?.status === now.status && was.reason === now.reason && was.message === now.message) return [];
      // What is new is expected to be well.
      if (was === undefined && now.status === 'True') return [];
      const from = was === undefined ? '' : `${was.status} ${was.reason} → `;
      const tone: Tone = now.status === 'True' ? 'good' : now.status === 'False' ? 'bad' : 'warning';
      const to = `${paint(tone, `${now.status} ${now.reason}`)}${now.status === 'True' ? '' : `: ${oneLine(now.message)}`}`;
      return [`  ${titleOf(parseKey(key))} ${now.type}: ${from}${to}\n`];
    }),
  );
  return lines.length === 0 ? [] : [`${paint('strong', 'Conditions')}\n`, ...lines, '\n'];
}

/** So many names are written out; the numbers are exact. */
const maxNamed = 30;

function renderResources({ resources, exact }: WirePreview, paint: Paint): string[] {
  if (resources === undefined) return [];
  const line = (sign: string, tone: Tone) => (resource: WireResource) =>
    `  ${paint(tone, `${sign} ${resource.type.replace(/^.*[./]/, '')} ${oneLine(resource.name)}`)}\n`;
  const lines = [
    ...resources.added.map(line('+', 'good')),
    ...resources.changed.map(line('~', 'warning')),
    ...resources.removed.map(line('-', 'bad')),
  ];
  if (lines.length === 0) return [];
  const more = lines.length > maxNamed ? [`  … and ${lines.length - maxNamed} more\n`] : [];
  const note = exact === false ? ' (at least: the change is too large to name all)' : '';
  return [`${paint('strong', `xDS resources${note}`)}\n`, ...lines.slice(0, maxNamed), ...more, '\n'];
}

function renderProxies({ proxies = [], drains, massRemoval }: WirePreview, paint: Paint): string[] {
  const lines: string[] = [];
  if (proxies.length > 0) {
    lines.push(`${paint('strong', count(proxies.length, 'proxy', 'proxies'))} would be told: ${named(proxies)}\n`);
  }
  const { listeners = [], filterChains = [] } = drains ?? {};
  if (listeners.length > 0) {
    lines.push(`${paint('bad', `${count(listeners.length, 'listener')} would drain`)}: ${named(listeners)}\n`);
  }
  if (filterChains.length > 0) {
    lines.push(
      `${paint('bad', `${count(filterChains.length, 'filter chain')} would drain`)}: ${named(filterChains)}\n`,
    );
  }
  if (massRemoval !== undefined) {
    const number = massRemoval.removals;
    lines.push(`${paint('bad', 'This removes much of a fleet')}: apply wants --confirm-removals ${number}\n`);
  }
  return lines;
}

function named(names: readonly string[]): string {
  const shown = names.slice(0, maxNamed).map(oneLine).join(', ');
  return names.length > maxNamed ? `${shown} and ${names.length - maxNamed} more` : shown;
}
