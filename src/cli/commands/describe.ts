import type { Command } from 'commander';
import { statusCell } from '../columns.ts';
import { usageError } from '../failure.ts';
import { parseTargets } from '../kind-words.ts';
import { getObject, listObjects } from '../objects.ts';
import { toYaml } from '../output/serialise.ts';
import { formatAge, printable, wrap } from '../output/text.ts';
import { examples, type ScopeOptions, scopeOf, scopeOption, selectorOption } from '../selection.ts';
import type { Session } from '../session.ts';
import type { WireCondition, WireObject } from '../wire.ts';

interface Options extends ScopeOptions {
  readonly selector?: string;
}

export function define(command: Command, session: Session): void {
  command
    .argument('<kind>', 'a kind by any of its names, or KIND/NAME')
    .argument('[name...]', 'names; none: all objects')
    .addOption(scopeOption())
    .addOption(selectorOption())
    .action((kind: string, names: readonly string[], options: Options) => describe(session, [kind, ...names], options));
  examples(command, ['fairway describe vs shop', 'fairway describe pools -l team=web']);
}

async function describe(session: Session, words: readonly string[], options: Options): Promise<void> {
  const targets = parseTargets(words);
  if (options.selector !== undefined && targets.some(({ name }) => name !== undefined)) {
    throw usageError('Objects are chosen by name or by label, not by both');
  }
  const scope = await scopeOf(options, session);
  const client = await session.client();
  const objects: WireObject[] = [];
  for (const { kind, name } of targets) {
    if (name !== undefined) objects.push(await getObject(client, kind, scope, name));
    else objects.push(...(await listObjects(client, kind, { scope, labelSelector: options.selector })).items);
  }
  const texts = await Promise.all(objects.map((object) => render(session, object)));
  session.io.out.write(texts.join('\n'));
}

/** Width of the names at the left. */
const labelWidth = 14;

async function render(session: Session, object: WireObject): Promise<string> {
  const { io, paint } = session;
  const { metadata, spec, status = {} } = object;
  const { conditions = [], observedGeneration: _seen, ...rest } = status;
  const line = (label: string, value: string) =>
    `${paint('faint', `${label}:`.padEnd(labelWidth))}${printable(value) || '-'}\n`;
  const section = async (label: string, value: object) =>
    Object.keys(value).length === 0
      ? ''
      : `${paint('faint', `${label}:`)}\n${indent(printable(await toYaml(value)), '  ')}`;
  const created = metadata.createdAt;
  const age = created === undefined ? '' : ` (${formatAge(io.now() - Date.parse(created))} ago)`;
  return [
    line('Kind', object.kind),
    line('Name', metadata.name),
    ...(metadata.scope === undefined ? [] : [line('Scope', metadata.scope)]),
    line('Labels', pairs(metadata.labels)),
    ...(pairs(metadata.annotations) === '' ? [] : [line('Annotations', pairs(metadata.annotations))]),
    line('Created', `${created ?? ''}${age}`),
    line('Generation', `${metadata.generation ?? ''}, revision ${metadata.revision ?? ''}`),
    ...(typeof metadata['source'] === 'string' ? [line('Kept by', metadata['source'])] : []),
    await section('Spec', spec),
    await section('Status', rest),
    renderConditions(session, conditions),
  ].join('');
}

function pairs(map: Readonly<Record<string, string>> | undefined): string {
  return Object.entries(map ?? {})
    .map(([name, value]) => `${name}=${value}`)
    .join(', ');
}

function renderConditions({ io, paint }: Session, conditions: readonly WireCondition[]): string {
  if (conditions.length === 0) return `${paint('faint', 'Conditions:')} none\n`;
  const typeWidth = Math.max(...conditions.map(({ type }) => type.length));
  const left = 2 + typeWidth + 2;
  const lines = conditions.map(({ type, status, reason, message, lastTransitionTime }) => {
    const { text, tone = 'plain' } = statusCell(status);
    const since =
      lastTransitionTime === undefined
        ? ''
        : paint('faint', `, ${formatAge(io.now() - Date.parse(lastTransitionTime))}`);
    const words = wrap(printable(message), Math.max(30, (io.out.columns ?? 100) - left));
    const body = words.map((word) => `${' '.repeat(left)}${word}\n`).join('');
    return `  ${type.padEnd(typeWidth)}  ${paint(tone, text)} ${reason}${since}\n${body}`;
  });
  return `${paint('faint', 'Conditions:')}\n${lines.join('')}`;
}

function indent(text: string, by: string): string {
  return text.replace(/^(?=.)/gm, by);
}
