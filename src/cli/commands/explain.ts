import { type Command, Option } from 'commander';
import { usageError } from '../failure.ts';
import { parseTargets } from '../kind-words.ts';
import { toJson, toYaml } from '../output/serialise.ts';
import { printable } from '../output/text.ts';
import { examples, type ScopeOptions, scopeOf, scopeOption } from '../selection.ts';
import type { Session } from '../session.ts';
import { shortType, type WireExplanation } from '../wire.ts';

interface Options extends ScopeOptions {
  readonly output: 'text' | 'yaml' | 'json';
}

export function define(command: Command, session: Session): void {
  command
    .argument('<kind>', 'vs, or vs/NAME')
    .argument('[name]', 'the virtual service')
    .addOption(new Option('-o, --output <format>', 'how to print it').choices(['text', 'yaml', 'json']).default('text'))
    .addOption(scopeOption())
    .action((kind: string, name: string | undefined, options: Options) =>
      explain(session, name === undefined ? [kind] : [kind, name], options),
    );
  examples(command, ['fairway explain vs shop', 'fairway explain vs/shop -o yaml']);
}

async function explain(session: Session, words: readonly string[], options: Options): Promise<void> {
  const [target, ...others] = parseTargets(words);
  if (target?.kind !== 'VirtualService' || target.name === undefined || others.length > 0) {
    throw usageError('One virtual service can be explained at a time', 'For instance: fairway explain vs shop');
  }
  const scope = await scopeOf(options, session);
  const client = await session.client();
  const path = `/v1/scopes/${encodeURIComponent(scope)}/virtual-services/${encodeURIComponent(target.name)}/explain`;
  const explanation = (await client.request('GET', path)) as WireExplanation;
  const { out } = session.io;
  if (options.output === 'json') out.write(toJson(explanation));
  else if (options.output === 'yaml') out.write(await toYaml(explanation));
  else out.write(render(explanation, session));
}

/** The explanation as a page to be read from top to bottom: who, what is wrong, where, which rule, who has it. */
export function render(explanation: WireExplanation, { paint }: Pick<Session, 'paint'>): string {
  const lines: string[] = [];
  const title = (text: string): void => void lines.push('', paint('strong', text));
  const say = (depth: number, text: string): void => void lines.push(`${'  '.repeat(depth)}${text}`);
  const { fleet } = explanation;
  lines.push(paint('strong', `VirtualService ${printable(explanation.service)}`));
  const served = explanation.servedGeneration ?? 'none';
  const behind = served === explanation.generation ? '' : paint('bad', ` (generation ${served} is served)`);
  say(1, `generation ${explanation.generation}${behind}`);
  const there = fleet.exists ? `${fleet.proxies} connected` : paint('bad', 'does not exist');
  say(1, `fleet ${printable(fleet.name)}: ${there}; ${printable(fleet.why)}`);
  for (const { condition, reason, message } of explanation.problems) {
    say(1, paint('bad', `${printable(condition)} ${printable(reason)}: ${printable(message)}`));
  }
  title('Sockets');
  for (const { address, port, served: open, owner, listener, chains } of explanation.sockets) {
    const where = `${address === '*' ? 'all addresses' : printable(address)}, port ${port}`;
    const state = open
      ? `Envoy listener ${printable(listener ?? '')}`
      : paint('bad', `not served${owner === undefined ? '' : `; ${printable(owner)} has it`}`);
    say(1, `${where}: ${state}`);
    for (const { listeners, goesTo, certificates } of chains) {
      const tls = certificates.length > 0 ? `, certificates ${certificates.map(printable).join(', ')}` : '';
      say(2, `${listeners.map(printable).join(', ')} → ${printable(goesTo)}${tls}`);
    }
  }
  if (explanation.hosts.length > 0) title('Hosts, with rules in the order in which they are tried');
  for (const { host, listener, owner, rules, otherwise } of explanation.hosts) {
    const from = owner === undefined ? '' : `, owned by ${printable(owner)}`;
    say(1, `${host === '*' ? 'all other hosts' : printable(host)} (listener ${printable(listener)}${from})`);
    for (const { match, action, from: object, rule } of rules) {
      say(
        2,
        `${printable(match)} → ${printable(action)}  ${paint('faint', `${printable(object)}, rule ${printable(rule)}`)}`,
      );
    }
    say(2, `otherwise → ${printable(otherwise)}`);
  }
  title('Resources');
  for (const { type, name, proxies } of explanation.resources) {
    const { acknowledged, of, waitingFor, rejectedBy } = proxies;
    const tone = rejectedBy.length > 0 ? 'bad' : acknowledged < of ? 'warning' : 'good';
    say(1, `${shortType(type)} ${printable(name)}: ${paint(tone, `${acknowledged} of ${of} proxies have it`)}`);
    if (waitingFor.length > 0) say(2, `waiting for ${waitingFor.map(printable).join(', ')}`);
    for (const { node, message } of rejectedBy) say(2, paint('bad', `${printable(node)}: ${printable(message)}`));
  }
  return `${lines.join('\n')}\n`;
}
