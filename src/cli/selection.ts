import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseDuration } from '../lib/duration.ts';
import { defaultScope } from '../model/kind.ts';
import { usageError } from './failure.ts';
import type { Session } from './session.ts';

/** Options that mean the same wherever objects are chosen. */

export interface ScopeOptions {
  readonly scope?: string;
}

export function scopeOption(): Option {
  return new Option('-n, --scope <scope>', 'scope of the objects (default: that of the context, or "default")');
}

export async function scopeOf(options: ScopeOptions, session: Session): Promise<string> {
  return options.scope ?? (await session.context()).scope ?? defaultScope;
}

export function selectorOption(): Option {
  return new Option('-l, --selector <selector>', 'only objects with these labels: a=b,c!=d,e,!f');
}

export function fileOption(): Option {
  return new Option(
    '-f, --filename <path>',
    'manifest, folder of manifests, or - for standard input; may be repeated',
  ).argParser((path: string, before: readonly string[] = []) => [...before, path]);
}

export function pruneOption(): Option {
  return new Option('--prune', 'delete what -l chooses and the manifests do not have');
}

/** Pruning needs a selector: without one it would delete whatever others have made. */
export function pruneQuery({ prune, selector }: { readonly prune?: boolean; readonly selector?: string }): {
  readonly prune: string | undefined;
} {
  if (prune === true && selector === undefined)
    throw usageError('--prune needs a selector: which objects are yours?', 'For instance: --prune -l team=web');
  if (prune !== true && selector !== undefined)
    throw usageError('-l says what --prune may delete, and there is no --prune');
  return { prune: prune === true ? selector : undefined };
}

export function confirmOption(): Option {
  return new Option('--confirm-removals <number>', 'repeats the number of a refusal that warned of a mass removal');
}

/** A duration such as `30s` as milliseconds. */
export function parseTimeout(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError(`"${text}" is no duration such as 30s or 1m30s`);
  return ms;
}

/** Says how a command is used, with examples. */
export function examples(command: Command, lines: readonly string[]): void {
  command.addHelpText('after', `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`);
}
