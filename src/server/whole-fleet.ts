import type { CommitInfo, Gathered, MissingController, Proxies, ProxyInfo } from '../api/index.ts';
import type { Records } from '../control/index.ts';
import type { OwnProxies } from './own-proxies.ts';
import type { AnswerTo, PeerQuestion } from './peer-question.ts';
import type { Peers, Unanswered } from './peers.ts';

/** All proxies, whichever controller they are attached to: our own and what the others tell of theirs. */
export interface WholeFleet extends Proxies {
  commit(revision: number): Promise<Gathered<CommitInfo | undefined>>;
}

export interface WholeFleetOptions {
  readonly own: OwnProxies;
  readonly peers: Peers;
  readonly records: Pick<Records, 'nodes'>;
}

/** Longest list of proxies that are waited for. */
const maxNamed = 10;

export function createWholeFleet({ own, peers, records }: WholeFleetOptions): WholeFleet {
  async function gather<Q extends PeerQuestion>(
    question: Q,
    mine: AnswerTo<Q> | undefined | Promise<AnswerTo<Q> | undefined>,
  ): Promise<Gathered<readonly NonNullable<AnswerTo<Q>>[]>> {
    const [{ answers, unanswered }, here] = await Promise.all([peers.ask(question), mine]);
    const all = [here, ...answers.map(({ answer }) => answer)];
    return {
      found: all.filter((answer): answer is NonNullable<AnswerTo<Q>> => answer !== null && answer !== undefined),
      missing: unanswered.map(missingOf),
    };
  }

  function missingOf(one: Unanswered): MissingController {
    let proxies = 0;
    for (const { connected, controller } of records.nodes.values()) {
      if (connected && controller === one.controller) proxies += 1;
    }
    return { ...one, proxies };
  }

  async function list(filter: Parameters<Proxies['list']>[0]): Promise<Gathered<readonly ProxyInfo[]>> {
    const { found, missing } = await gather({ ask: 'proxies', ...filter }, own.list(filter));
    return { found: newestOf(found.flat()), missing };
  }

  return {
    list,
    async get(node) {
      const { found, missing } = await list({ node });
      return { found: found[0], missing };
    },
    async config(node, options) {
      const here = await own.config(node, options);
      // Of a proxy that is here nobody else knows better.
      if (here !== undefined) return { found: here, missing: [] };
      const { found, missing } = await gather({ ask: 'config', node, ...options }, undefined);
      return { found: found[0], missing };
    },
    async compare(node) {
      const { found, missing } = await gather({ ask: 'compare', node }, own.compare(node));
      return { found: found.reduce((sum, compared) => sum + compared, 0), missing };
    },
    async commit(revision) {
      const { found, missing } = await gather({ ask: 'commit', revision }, own.commit(revision));
      return { found: joinCommits(found), missing };
    },
  };
}

/** Of two streams of one proxy the newer one: the other is about to break. */
function newestOf(all: readonly ProxyInfo[]): readonly ProxyInfo[] {
  const newest = new Map<string, ProxyInfo>();
  for (const proxy of all) {
    const known = newest.get(proxy.node);
    if (known === undefined || known.connectedSince < proxy.connectedSince) newest.set(proxy.node, proxy);
  }
  return [...newest.values()];
}

/**
 * The first tells when it was committed and settled, which is this controller where it knows; the proxies are those of
 * all.
 */
function joinCommits(all: readonly CommitInfo[]): CommitInfo | undefined {
  const [first] = all;
  if (first === undefined) return undefined;
  const sum = (field: 'concerned' | 'acknowledged') => all.reduce((total, { proxies }) => total + proxies[field], 0);
  const waitingFor = all.flatMap(({ proxies }) => proxies.waitingFor).sort();
  const proxies = {
    concerned: sum('concerned'),
    acknowledged: sum('acknowledged'),
    waitingFor: waitingFor.slice(0, maxNamed),
  };
  const { sent: _sent, acknowledged: _acknowledged, ...rest } = first;
  return { ...rest, proxies, ...spanOf(all, 'sent'), ...spanOf(all, 'acknowledged') };
}

/** From the first of the firsts to the last of the lasts. RFC 3339 in UTC sorts by time. */
function spanOf(all: readonly CommitInfo[], field: 'sent' | 'acknowledged'): Pick<CommitInfo, 'sent' | 'acknowledged'> {
  const spans = all.flatMap((commit) => commit[field] ?? []);
  const first = spans.map((span) => span.first).sort()[0];
  const last = spans
    .map((span) => span.last)
    .sort()
    .at(-1);
  return first === undefined || last === undefined ? {} : { [field]: { first, last } };
}
