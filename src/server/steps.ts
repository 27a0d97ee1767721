import type { Adoption, Changes } from '../control/index.ts';
import type { Hub } from '../xds/index.ts';
import type { Candidacy } from './candidacy.ts';
import type { Cluster } from './cluster.ts';
import type { Commits } from './commits.ts';
import type { Deliveries } from './deliveries.ts';
import type { Measurements } from './measurements.ts';
import type { MutualTls } from './mutual-tls.ts';
import type { Observers } from './observers.ts';
import type { Restores } from './restores.ts';
import type { Tracing } from './tracing.ts';

/** All that follow the View, each told of every step of it. */
export interface Followers {
  readonly measurements: Pick<Measurements, 'adopted'>;
  readonly commits: Commits;
  readonly hub: Hub;
  readonly deliveries: Deliveries;
  readonly tracing: Tracing;
  readonly changes: Changes;
  readonly mutualTls: MutualTls | undefined;
  /** Ends the streams of those who are no longer let in. */
  readonly reviewPeers: () => void;
  readonly observers: Observers;
  readonly restores: Restores;
  readonly cluster: Cluster;
  readonly candidacy: Candidacy;
  readonly now: () => number;
}

/** The steps of the View. Those that it makes before all who follow it are there are kept for them. */
export interface Steps {
  /** For the mirror. */
  readonly adopted: (adoption: Adoption) => void;
  /** Hands out what was kept, and from now on every step at once. */
  follow(followers: Followers): void;
}

export function createSteps(): Steps {
  const kept: Adoption[] = [];
  let take = (adoption: Adoption): void => void kept.push(adoption);
  return {
    adopted: (adoption) => take(adoption),
    follow(followers) {
      take = (adoption) => hand(adoption, followers);
      for (const adoption of kept.splice(0)) take(adoption);
    },
  };
}

/** The order matters where it is said. */
function hand(adoption: Adoption, followers: Followers): void {
  const { measurements, commits, hub, deliveries, tracing, changes, observers, cluster, candidacy } = followers;
  const { revision, commit, receivedAt, over } = adoption;
  const settledAt = followers.now();
  measurements.adopted(adoption, settledAt);
  // Known before proxies are sent it: how long it takes them is counted from here.
  commits.add(commit, { committedAt: receivedAt, settledAt });
  hub.commit(commit);
  deliveries.tableChanged();
  tracing.adopted();
  changes.add(adoption);
  // First those that are shut out: nobody registers a node for the stream that it still has.
  if (followers.mutualTls?.adopted(adoption) === true) followers.reviewPeers();
  const restored = followers.restores.isFirstOf(revision);
  observers.adopted(adoption, restored);
  for (const { type, name } of over) hub.clear(type, name);
  if (restored) {
    changes.forget(revision);
    candidacy.lookAtAll();
  }
  cluster.adopted(adoption);
  candidacy.adopted(adoption);
}
