import type { Command } from 'commander';
import { kindNames, namesOfKinds } from '../../model/kind.ts';
import { type Client, objectPath, ProblemError } from '../client.ts';
import { CliError, exitCodes, usageError } from '../failure.ts';
import { parseTargets, singular } from '../kind-words.ts';
import { isMissing, listObjects } from '../objects.ts';
import { count } from '../output/text.ts';
import {
  confirmOption,
  examples,
  fileOption,
  type ScopeOptions,
  scopeOf,
  scopeOption,
  selectorOption,
} from '../selection.ts';
import type { Session } from '../session.ts';
import type { WireObject } from '../wire.ts';

interface Options extends ScopeOptions {
  readonly filename?: readonly string[];
  readonly selector?: string;
  readonly force?: boolean;
  readonly ignoreNotFound?: boolean;
  readonly confirmRemovals?: string;
}

type Named = Pick<WireObject, 'kind'> & { readonly scope: string; readonly name: string };

export function define(command: Command, session: Session): void {
  command
    .argument('[kind]', 'a kind by any of its names, or KIND/NAME')
    .argument('[name...]', 'names of the objects')
    .addOption(fileOption())
    .addOption(scopeOption())
    .addOption(selectorOption())
    .option('--force', 'also when other objects refer to it; they get a condition')
    .option('--ignore-not-found', 'what is not there is as good as deleted')
    .addOption(confirmOption())
    .action((kind: string | undefined, names: readonly string[], options: Options) =>
      remove(session, kind === undefined ? [] : [kind, ...names], options),
    );
  examples(command, [
    'fairway delete vs shop',
    'fairway delete pool/web pool/api',
    'fairway delete -f envoy/examples/shop.yaml',
  ]);
}

async function remove(session: Session, words: readonly string[], options: Options): Promise<void> {
  const scope = await scopeOf(options, session);
  const client = await session.client();
  const targets = await targetsOf(session, client, words, scope, options);
  const failures: CliError[] = [];
  for (const { kind, scope, name } of targets) {
    try {
      await client.request('DELETE', objectPath(kind, scope, name), {
        query: { force: options.force, confirmRemovals: options.confirmRemovals },
      });
      session.io.out.write(`${singular(kind)}/${name} deleted\n`);
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error;
      if (isMissing(error) && options.ignoreNotFound === true) continue;
      failures.push(error);
    }
  }
  const [first, ...more] = failures;
  if (first === undefined) return;
  if (more.length === 0) throw first;
  throw new CliError(exitCodes.refused, `${count(failures.length, 'object')} could not be deleted`, {
    details: failures.map(({ message }) => message),
  });
}

async function targetsOf(
  session: Session,
  client: Client,
  words: readonly string[],
  scope: string,
  { filename, selector }: Options,
): Promise<readonly Named[]> {
  if (filename !== undefined) {
    if (words.length > 0 || selector !== undefined)
      throw usageError('Objects come from a file or from names, not both');
    const { readManifests } = await import('../manifests.ts');
    const objects = await readManifests(filename, session.io, scope);
    return inOrderOfDeletion(
      objects.map(({ draft }) => ({
        kind: draft.kind,
        scope: draft.metadata.scope ?? scope,
        name: draft.metadata.name,
      })),
    );
  }
  if (words.length === 0) throw usageError('What shall be deleted?', 'Name a kind and objects, or a file with -f.');
  const targets = parseTargets(words);
  const found: Named[] = [];
  for (const { kind, name } of targets) {
    if (name !== undefined) found.push({ kind, scope, name });
    else if (selector === undefined) {
      throw usageError(`Which ${namesOfKinds[kind].plural}?`, 'Name them, or choose them with -l.');
    } else {
      const { items } = await listObjects(client, kind, { scope, labelSelector: selector });
      found.push(...items.map(({ metadata }) => ({ kind, scope: metadata.scope ?? scope, name: metadata.name })));
    }
  }
  return found;
}

/** Who refers goes before what is referred to. */
function inOrderOfDeletion(objects: readonly Named[]): readonly Named[] {
  return objects.toSorted((a, b) => kindNames.indexOf(b.kind) - kindNames.indexOf(a.kind));
}
