import type { Command } from 'commander';
import { createJoinToken, deleteJoinToken, type JoinTokenOptions, listJoinTokens } from '../membership/tokens.ts';
import { examples } from '../selection.ts';
import type { Session } from '../session.ts';

export function define(command: Command, session: Session): void {
  command
    .command('create')
    .description('make a token by which one node may join one fleet, once; it is printed and told nowhere else')
    .option('--node <name>', 'node that is to join')
    .option('--fleet <name>', 'fleet that it joins')
    .option('--ttl <duration>', 'how long it can be used (default: 1h)')
    .action((options: JoinTokenOptions) => createJoinToken(session, options));
  command
    .command('list')
    .description('show the join tokens that can still be used')
    .action(() => listJoinTokens(session));
  command
    .command('delete')
    .description('take a join token back')
    .argument('<id>', 'as the list shows it')
    .action((id: string) => deleteJoinToken(session, id));
  examples(command, [
    'fairway token create --node edge-1 --fleet edge --ttl 1h',
    'fairway token list',
    'FAIRWAY_JOIN_TOKEN=$(fairway token create --node edge-1 --fleet edge) fairway envoy',
  ]);
}
