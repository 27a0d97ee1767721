import { describe, expect, test } from 'vitest';
import { type Commits, type CommitTrack, createCommits } from '../../../src/server/commits.ts';
import type { Commit } from '../../../src/xds/index.ts';
import { type Client, cluster, listener, Rig, resource } from '../../support/xds-rig.ts';

const times = { committedAt: 1, settledAt: 2 };

/** A rig whose commits and progress are followed, as the server's are. */
function followed() {
  const rig = new Rig();
  const taken: CommitTrack[] = [];
  const commits: Commits = createCommits(rig.hub.table, (track) => taken.push(track));
  const told = (): void => {
    rig.pump();
    commits.observe(rig.progress.splice(0));
  };
  function commit(puts: Commit['puts']): number {
    const revision = rig.hub.table.revision + 1;
    commits.add({ revision, puts, removals: [], audiences: [] }, times);
    rig.commit(puts);
    expect(rig.hub.table.revision).toBe(revision);
    told();
    return revision;
  }
  function settled(id: string, of = 'edge'): Client {
    const client = rig.join({ typeUrl: cluster }, { id, cluster: of });
    client.send({ typeUrl: listener });
    client.settle();
    told();
    return client;
  }
  return { rig, commits, taken, told, commit, settled };
}

const proxies = (commits: Commits, revision: number) => commits.get(revision)?.proxies;

describe('a commit', () => {
  test('is acknowledged by each proxy that was there, and taken once all have', () => {
    const { commits, taken, told, commit, settled } = followed();
    commit([resource(cluster, 'c1')]);
    const [a, b] = [settled('a'), settled('b')];
    const revision = commit([resource(cluster, 'c1', '2')]);
    expect(proxies(commits, revision)).toEqual({ concerned: 2, acknowledged: 0, waitingFor: ['a', 'b'] });
    a.settle();
    told();
    expect(proxies(commits, revision)).toEqual({ concerned: 2, acknowledged: 1, waitingFor: ['b'] });
    expect(commits.waiting).toBe(1);
    expect(taken).toEqual([]);
    b.settle();
    told();
    expect(proxies(commits, revision)).toEqual({ concerned: 2, acknowledged: 2, waitingFor: [] });
    expect(commits.waiting).toBe(0);
    expect(taken.map((track) => track.revision)).toEqual([revision]);
  });

  test('is acknowledged together with those before it, which are taken in their order', () => {
    const { commits, taken, told, commit, settled } = followed();
    commit([resource(cluster, 'c1')]);
    const a = settled('a');
    const revisions = ['2', '3', '4'].map((version) => commit([resource(cluster, 'c1', version)]));
    expect(commits.waiting).toBe(3);
    a.settle();
    told();
    expect(taken.map((track) => track.revision)).toEqual(revisions);
  });

  test('waits neither for proxies that came later, nor for those of other fleets, nor for who is gone', () => {
    const { rig, commits, taken, told, commit, settled } = followed();
    commit([resource(cluster, 'c1'), resource(cluster, 'theirs', '1', { audience: 'others' })]);
    const a = settled('a');
    settled('theirs', 'others');
    const revision = commit([resource(cluster, 'c1', '2')]);
    settled('late');
    expect(proxies(commits, revision)).toEqual({ concerned: 1, acknowledged: 0, waitingFor: ['a'] });
    a.stream.close(rig.now);
    told();
    expect(proxies(commits, revision)).toEqual({ concerned: 0, acknowledged: 0, waitingFor: [] });
    expect(commits.waiting).toBe(0);
    expect(taken).toEqual([]);
  });

  test('that a proxy never answers for keeps nobody else from being counted', () => {
    const { commits, told, commit, settled } = followed();
    commit([resource(cluster, 'c1')]);
    settled('stuck');
    const b = settled('b');
    const revisions = Array.from({ length: 20 }, (_, at) => {
      const revision = commit([resource(cluster, 'c1', String(at + 2))]);
      b.settle();
      told();
      return revision;
    });
    for (const revision of revisions) {
      expect(proxies(commits, revision)).toEqual({ concerned: 2, acknowledged: 1, waitingFor: ['stuck'] });
    }
  });
});
