import type { Records } from '../control/index.ts';
import type { Delivery, NodeRecord, ProxyRejection } from '../status/index.ts';
import type { Entry } from '../xds/index.ts';
import { ackedOf, type RemoteProxies } from './remote-proxies.ts';

/** How far the proxies of the other controllers are, in the terms of status, as those have recorded it. */
export interface RemoteDeliveries {
  /** Nobody is with another controller, and nobody was a moment ago. */
  readonly isEmpty: boolean;
  /** The View, the records or the proxies are others. */
  adopted(): void;
  /** Of all of them that should have the resource; the same list as long as it says the same. */
  of(entry: Entry): readonly Delivery[];
  ofFleet(fleet: string): readonly Delivery[];
  /** Undefined: it is connected to no other controller, or was lost there. */
  ofNode(name: string): Delivery | undefined;
}

export interface RemoteDeliveriesOptions {
  readonly records: Pick<Records, 'deliveries'>;
  readonly proxies: Pick<RemoteProxies, 'attached' | 'lost'>;
  readonly audiencesOf: (node: { readonly id: string; readonly cluster: string }) => ReadonlySet<string>;
  /** Whether the node has a stream here: then what another says of it is out of date. */
  readonly isHere: (name: string) => boolean;
  /** The newest revision up to this one that changed what proxies may get: who has that has all up to here. */
  readonly neededAt: (revision: number) => number;
  /** Newest revision of our own table. */
  readonly revision: () => number;
}

/** One proxy of another controller. */
interface Remote {
  readonly name: string;
  readonly record: NodeRecord;
  /** All up to here it has acknowledged; undefined: nothing is known of it yet. */
  readonly acked: number | undefined;
  readonly rejected: readonly ProxyRejection[];
  readonly lost: boolean;
}

interface Chorus {
  readonly remotes: readonly Remote[];
  /** How much they have, each number once, the least first. */
  readonly levels: readonly number[];
  /** By the level that is enough: what is said of all of them. There are few, however many things are asked for. */
  readonly said: Map<number, readonly Delivery[]>;
}

const nobody: readonly Delivery[] = [];

/** Nothing here is kept: all follows from the records, and is computed when it is asked for after they have changed. */
export function createRemoteDeliveries(options: RemoteDeliveriesOptions): RemoteDeliveries {
  const { records, proxies, isHere } = options;
  let remotes: ReadonlyMap<string, Remote> | undefined;
  let choruses: Map<string, Chorus> | undefined;

  function all(): ReadonlyMap<string, Remote> {
    remotes ??= readRemotes();
    return remotes;
  }

  function readRemotes(): Map<string, Remote> {
    const found = new Map<string, Remote>();
    for (const [name, { record, former }] of proxies.attached) {
      if (isHere(name)) continue;
      const told = records.deliveries.get(record.controller ?? '');
      const rejected = told?.rejected.filter(({ node }) => node === name) ?? [];
      const acked = (told && ackedOf(told, name, record.fleet)) ?? former;
      found.set(name, { name, record, acked, rejected, lost: false });
    }
    for (const [name, { record, acked }] of proxies.lost) {
      if (!isHere(name)) found.set(name, { name, record, acked, rejected: [], lost: true });
    }
    return found;
  }

  function readChoruses(): Map<string, Chorus> {
    const members = new Map<string, Remote[]>();
    for (const remote of all().values()) {
      const { nodeId: id, fleet: cluster } = remote.record;
      for (const audience of options.audiencesOf({ id, cluster })) {
        const list = members.get(audience);
        if (list === undefined) members.set(audience, [remote]);
        else list.push(remote);
      }
    }
    return new Map(
      [...members].map(([audience, list]) => {
        const levels = [...new Set(list.map(({ acked }) => acked ?? 0))].sort((a, b) => a - b);
        return [audience, { remotes: list, levels, said: new Map() }];
      }),
    );
  }

  function delivery({ name, acked = 0, lost }: Remote, needed: number): Delivery {
    // One of which nothing was told is being filled, like one that has nothing yet.
    const state = acked > 0 && acked >= needed ? 'acked' : 'pending';
    return { node: name, state, counts: acked > 0, ...(lost ? { lost } : {}) };
  }

  function refusal({ words, scope, since, node }: ProxyRejection): Delivery {
    return { node, state: 'rejected', words, scope, counts: true, ...(since === undefined ? {} : { since }) };
  }

  function isEmpty(): boolean {
    return proxies.attached.size + proxies.lost.size === 0;
  }

  return {
    get isEmpty() {
      return isEmpty();
    },
    adopted() {
      remotes = undefined;
      choruses = undefined;
    },
    of({ resource, revision }) {
      if (isEmpty()) return nobody;
      choruses ??= readChoruses();
      const chorus = choruses.get(resource.audience);
      if (chorus === undefined) return nobody;
      const needed = options.neededAt(revision);
      const level = chorus.levels.find((acked) => acked >= needed) ?? Number.POSITIVE_INFINITY;
      let said = chorus.said.get(level);
      if (said === undefined) {
        said = chorus.remotes.map((remote) => delivery(remote, level));
        chorus.said.set(level, said);
      }
      const refusals = chorus.remotes.flatMap(({ rejected }) =>
        rejected.filter(({ type, name }) => type === resource.type && name === resource.name),
      );
      if (refusals.length === 0) return said;
      const refusing = new Map(refusals.map((one) => [one.node, one]));
      return said.map((one) => {
        const refused = refusing.get(one.node);
        return refused === undefined ? one : refusal(refused);
      });
    },
    ofFleet(fleet) {
      if (isEmpty()) return nobody;
      const needed = options.neededAt(options.revision());
      return [...all().values()]
        .filter(({ record }) => record.fleet === fleet)
        .map((remote) => (remote.rejected[0] === undefined ? delivery(remote, needed) : refusal(remote.rejected[0])));
    },
    ofNode(name) {
      const remote = isEmpty() ? undefined : all().get(name);
      if (remote === undefined || remote.lost) return undefined;
      const [rejected] = remote.rejected;
      return rejected === undefined ? delivery(remote, options.neededAt(options.revision())) : refusal(rejected);
    },
  };
}

/** Lists of both, made once for each pair, so that a list that is the same is seen to be. */
export function createJoin(): (here: readonly Delivery[], there: readonly Delivery[]) => readonly Delivery[] {
  const joined = new WeakMap<readonly Delivery[], WeakMap<readonly Delivery[], readonly Delivery[]>>();
  return (here, there) => {
    if (there.length === 0) return here;
    if (here.length === 0) return there;
    const known = joined.get(here) ?? new WeakMap<readonly Delivery[], readonly Delivery[]>();
    joined.set(here, known);
    let both = known.get(there);
    if (both === undefined) {
      both = [...here, ...there];
      known.set(there, both);
    }
    return both;
  };
}
