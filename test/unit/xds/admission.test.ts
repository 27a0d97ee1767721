import { describe, expect, it } from 'vitest';
import { createAdmission } from '../../../src/xds/admission.ts';
import { type Client, cluster, Rig, resource } from '../../support/xds-rig.ts';

const options = { streamsPerS: 10, burst: 3, maxFilling: 5, maxFillMs: 2_000, maxWaiting: 100 };

describe('admission', () => {
  it('lets a burst begin, then so many a second, first come, first served', () => {
    const admission = createAdmission<number>(options);
    for (let stream = 0; stream < 5; stream++) admission.enter(stream);
    expect(admission.admit(1_000)).toEqual([0, 1, 2]);
    expect(admission.nextDeadline()).toBe(1_100);
    expect(admission.admit(1_099)).toEqual([]);
    expect(admission.admit(1_100)).toEqual([3]);
    expect(admission.admit(1_200)).toEqual([4]);
    expect(admission.nextDeadline()).toBeUndefined();
  });

  it('lets so many fill at a time, and makes room when one is filled or gone', () => {
    const admission = createAdmission<number>({ ...options, burst: 100, maxFilling: 2 });
    for (let stream = 0; stream < 6; stream++) admission.enter(stream);
    expect(admission.admit(0)).toEqual([0, 1]);
    admission.leave(1);
    expect(admission.admit(10)).toEqual([2]);
    // Gone while it waited: its place is not lost to the others.
    admission.leave(3);
    admission.leave(0);
    expect(admission.admit(20)).toEqual([4]);
  });

  it('makes room when a stream takes long to fill', () => {
    const admission = createAdmission<number>({ ...options, maxFilling: 1 });
    for (let stream = 0; stream < 2; stream++) admission.enter(stream);
    expect(admission.admit(0)).toEqual([0]);
    expect(admission.nextDeadline()).toBe(2_000);
    expect(admission.admit(1_999)).toEqual([]);
    expect(admission.admit(2_000)).toEqual([1]);
  });

  it('turns away whom it has no room to remember, and takes them later', () => {
    const admission = createAdmission<number>({ ...options, maxWaiting: 4 });
    const taken = Array.from({ length: 6 }, (_, stream) => admission.enter(stream));
    expect(taken).toEqual([true, true, true, true, false, false]);
    expect(admission.enter(0)).toBe(true);
    admission.admit(0);
    expect(admission.enter(5)).toBe(true);
  });
});

describe('new streams', () => {
  const join = (rig: Rig, count: number): Client[] =>
    Array.from({ length: count }, (_, at) => rig.join({ typeUrl: cluster }, { id: `n${at}`, cluster: 'edge' }));

  it('wait for their turn without being refused, and none is locked out', () => {
    const rig = new Rig({ admission: { ...options, burst: 10 } });
    rig.commit([resource(cluster, 'c1')]);
    const clients = join(rig, 30);
    const filled = new Set<Client>();
    for (let second = 0; second < 10; second++) {
      for (const client of clients) if (client.settle().length > 0) filled.add(client);
      if (second === 0) expect(filled.size).toBe(10);
      rig.pass(1_000);
    }
    expect(filled.size).toBe(30);
    expect(clients.flatMap(({ error }) => error ?? [])).toEqual([]);
  });

  it('do not wait behind streams that answer nothing for longer than a while', () => {
    const rig = new Rig({ admission: { ...options, burst: 100 } });
    rig.commit([resource(cluster, 'c1')]);
    const silent = join(rig, 5);
    expect(silent.map((client) => client.take().length)).toEqual([1, 1, 1, 1, 1]);
    const client = rig.join({ typeUrl: cluster }, { id: 'last', cluster: 'edge' });
    expect(client.texts()).toEqual([]);
    rig.pass(2_000);
    expect(client.texts()).toEqual(['cluster: c1=1']);
  });

  it('rule 40: go to another controller when too many wait', () => {
    const rig = new Rig({ admission: { ...options, maxWaiting: 2, burst: 0 } });
    rig.commit([]);
    expect(join(rig, 4).map(({ error }) => error?.reason)).toEqual([undefined, undefined, 'overloaded', 'overloaded']);
  });
});
