import type { Command, Option } from 'commander';
import { defaultScope, type Kind, kindNames, namesOfKinds } from '../../model/kind.ts';
import { clientCommands, processCommands } from '../command-table.ts';
import { CliError } from '../failure.ts';
import { resolveKind } from '../kind-words.ts';
import { listObjects } from '../objects.ts';
import type { Session } from '../session.ts';

/** `fairway __complete -- WORDS…`: what may stand where the last word is being typed. Called by the shells' scripts. */
export function define(command: Command, session: Session): void {
  command.argument('[words...]').action(async (words: readonly string[]) => {
    const candidates = await complete(words, session, command.parent);
    session.io.out.write(candidates.map((candidate) => `${candidate}\n`).join(''));
  });
}

/** Makes the shell complete file names. */
const files = [':files'];

/** Commands that name objects. */
const namesObjects = ['get', 'describe', 'delete', 'edit', 'wait'];

async function complete(
  words: readonly string[],
  session: Session,
  program: Command | null,
): Promise<readonly string[]> {
  const typed = words.at(-1) ?? '';
  const before = words.slice(0, -1);
  const ofAll = program?.options ?? [];
  const [name] = operandsOf(before, ofAll);
  if (name === undefined) return openValue(before, typed, ofAll, session) ?? ofProgram(typed, ofAll);

  const command = program?.commands.find((one) => one.name() === name);
  const entry = clientCommands.find((one) => one.name === name);
  // A process reads its own arguments; most of them name files.
  if (command === undefined || entry === undefined) return files;
  (await entry.load()).define(command, session);
  const options = [...command.options, ...ofAll];
  const operands = operandsOf(before, options).slice(1);
  return openValue(before, typed, options, session) ?? ofCommand(name, operands, before, typed, options, session);
}

function ofProgram(typed: string, options: readonly Option[]): readonly string[] {
  if (typed.startsWith('-')) return flags(options, typed);
  return matching(
    [...processCommands, ...clientCommands].map(({ name, summary }) => `${name}\t${summary}`),
    typed,
  );
}

async function ofCommand(
  name: string,
  operands: readonly string[],
  before: readonly string[],
  typed: string,
  options: readonly Option[],
  session: Session,
): Promise<readonly string[]> {
  if (typed.startsWith('-')) return flags(options, typed);
  if (name === 'completion') return matching(['bash', 'zsh', 'fish'], typed);
  if (name === 'proxies') return operands.length === 0 ? objectNames('Node', typed, session) : [];
  if (name === 'events' || name === 'audit') return operands.length === 0 ? kindOrObject(typed, session) : [];
  if (!namesObjects.includes(name)) return [];
  const [kind, ...names] = operands;
  if (kind === undefined) return kindOrObject(typed, session);
  if (kind.includes('/') || kind.includes(',')) return [];
  const found = await objectNames(resolveKind(kind), typed, session, scopeIn(before));
  return found.filter((one) => !names.includes(one));
}

/** Whether the option takes a value of its own word. */
function takesValue(options: readonly Option[], word: string | undefined): Option | undefined {
  return options.find(
    ({ required, short, long }) => required && word !== undefined && (word === short || word === long),
  );
}

/** The words that are neither options nor values of options. */
function operandsOf(words: readonly string[], options: readonly Option[]): readonly string[] {
  return words.filter((word, i) => !word.startsWith('-') && takesValue(options, words[i - 1]) === undefined);
}

/** Candidates for the value of the option just before; undefined when there is none that waits for a value. */
function openValue(
  before: readonly string[],
  typed: string,
  options: readonly Option[],
  session: Session,
): Promise<readonly string[]> | readonly string[] | undefined {
  const option = takesValue(options, before.at(-1));
  if (option === undefined) return undefined;
  if (option.argChoices !== undefined) return matching(option.argChoices, typed);
  switch (option.long) {
    case '--scope':
      return objectNames('Scope', typed, session);
    case '--fleet':
      return objectNames('Fleet', typed, session);
    case '--filename':
    case '--envoy':
      return files;
    default:
      return [];
  }
}

function scopeIn(words: readonly string[]): string | undefined {
  const at = words.findIndex((word) => word === '-n' || word === '--scope');
  return at < 0 ? undefined : words[at + 1];
}

/** `v…`, `vs,po…` and `vs/na…`. */
async function kindOrObject(typed: string, session: Session): Promise<readonly string[]> {
  const slash = typed.indexOf('/');
  if (slash >= 0) {
    const kind = typed.slice(0, slash);
    const names = await objectNames(resolveKind(kind), typed.slice(slash + 1), session);
    return names.map((name) => `${kind}/${name}`);
  }
  const comma = typed.lastIndexOf(',') + 1;
  const words = kindNames.flatMap((kind) => [...namesOfKinds[kind].shortNames, namesOfKinds[kind].plural]);
  return matching(words, typed.slice(comma)).map((word) => typed.slice(0, comma) + word);
}

function flags(options: readonly Option[], typed: string): readonly string[] {
  const words = options
    .filter(({ hidden }) => !hidden)
    .map(({ long, flags, description }) => `${long ?? flags}\t${description}`);
  return matching([...words, '--help\tshow help'], typed);
}

/** Nobody waits longer for a completion. */
const timeoutMs = 1500;

/** Names from the server; none when it cannot be asked. */
async function objectNames(kind: Kind, typed: string, session: Session, scope?: string): Promise<readonly string[]> {
  try {
    const inScope = scope ?? (await session.context()).scope ?? defaultScope;
    const { items } = await listObjects(await session.client({ timeoutMs }), kind, { scope: inScope });
    return matching(
      items.map(({ metadata }) => metadata.name),
      typed,
    );
  } catch (error) {
    if (error instanceof CliError) return [];
    throw error;
  }
}

function matching(candidates: readonly string[], typed: string): readonly string[] {
  return candidates.filter((candidate) => candidate.startsWith(typed));
}
