import { type Command, Option } from 'commander';
import { nearest } from '../../lib/nearest.ts';
import type { Client } from '../client.ts';
import { CliError, didYouMean, exitCodes, usageError } from '../failure.ts';
import { parseTargets } from '../kind-words.ts';
import { listObjects } from '../objects.ts';
import { examples, parseTimeout, type ScopeOptions, scopeOf, scopeOption, selectorOption } from '../selection.ts';
import type { Session } from '../session.ts';
import { type Awaited, type Goal, programmed, waitForAll } from '../waiting.ts';
import type { WireCondition } from '../wire.ts';

interface Options extends ScopeOptions {
  readonly selector?: string;
  readonly for: Goal;
  readonly timeout: number;
}

export function define(command: Command, session: Session): void {
  command
    .argument('<kind>', 'a kind by any of its names, or KIND/NAME')
    .argument('[name...]', 'names; none: all objects that are there now')
    .addOption(
      new Option('--for <what>', 'condition=TYPE, condition=TYPE=STATUS, or delete')
        .argParser(parseGoal)
        .default(programmed, 'condition=Programmed'),
    )
    .addOption(
      new Option('--timeout <duration>', 'how long to wait at most').argParser(parseTimeout).default(30_000, '30s'),
    )
    .addOption(scopeOption())
    .addOption(selectorOption())
    .action((kind: string, names: readonly string[], options: Options) => wait(session, [kind, ...names], options));
  examples(command, [
    'fairway wait vs shop',
    'fairway wait vs --for=condition=ResolvedRefs=True --timeout 1m',
    'fairway wait pool/web --for=delete',
  ]);
}

const statuses: readonly WireCondition['status'][] = ['True', 'False', 'Unknown'];

export function parseGoal(text: string): Goal {
  if (text === 'delete') return { kind: 'gone' };
  const [word, type, status = 'True', ...rest] = text.split('=');
  if (word !== 'condition' || !type || rest.length > 0) {
    const near = didYouMean(nearest(word ?? '', ['condition', 'delete']));
    throw usageError(`--for=${text} is nothing that can be waited for`, near ?? 'Write condition=TYPE or delete.');
  }
  const known = statuses.find((name) => name.toLowerCase() === status.toLowerCase());
  if (known === undefined) throw usageError(`A condition is never "${status}"`, didYouMean(nearest(status, statuses)));
  return { kind: 'condition', type, status: known };
}

async function wait(session: Session, words: readonly string[], options: Options): Promise<void> {
  const scope = await scopeOf(options, session);
  const client = await session.client();
  const awaited = await awaitedOf(client, words, scope, options);
  await waitForAll(client, session.io, awaited, options.for, options.timeout);
}

async function awaitedOf(
  client: Client,
  words: readonly string[],
  scope: string,
  options: Options,
): Promise<Awaited[]> {
  const found: Awaited[] = [];
  for (const { kind, name } of parseTargets(words)) {
    if (name !== undefined) {
      found.push({ kind, scope, name });
      continue;
    }
    const { items } = await listObjects(client, kind, { scope, labelSelector: options.selector });
    found.push(...items.map(({ metadata }) => ({ kind, scope, name: metadata.name })));
  }
  if (found.length === 0) throw new CliError(exitCodes.refused, 'There is no such object to wait for');
  return found;
}
