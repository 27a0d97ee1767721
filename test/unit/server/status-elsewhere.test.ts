/** The status of clients of other controllers: a hub for each, asked as controllers ask each other. */
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import {
  ClientStatusRequestSchema,
  type ClientStatusResponse,
  ClientStatusResponseSchema,
} from '../../../src/gen/envoy/service/status/v3/csds_pb.js';
import { unmeasured } from '../../../src/lib/slices.ts';
import { createOwnClientStatus, type OwnClientStatus } from '../../../src/server/own-client-status.ts';
import type { ClientStatusQuestion } from '../../../src/server/peer-question.ts';
import type { Unanswered } from '../../../src/server/peers.ts';
import { createStatusElsewhere } from '../../../src/server/status-elsewhere.ts';
import type { NodeRecord } from '../../../src/status/index.ts';
import { joinFrame } from '../../../src/xds/index.ts';
import type { Elsewhere } from '../../../src/xds/io/index.ts';
import { cluster, Rig, resource } from '../../support/xds-rig.ts';

const kibibyte = 1024;

function controllerWith(nodes: readonly string[], resources = 3): OwnClientStatus {
  const rig = new Rig();
  rig.commit(Array.from({ length: resources }, (_, at) => resource(cluster, `c${at}`)));
  for (const id of nodes) rig.join({ typeUrl: cluster }, { id, cluster: 'edge' }).settle();
  return createOwnClientStatus(rig.hub, unmeasured);
}

const record = (nodeId: string, controller: string, connected = true): NodeRecord => ({
  ...{ nodeId, controller, connected, fleet: 'edge', version: 'envoy 1.40.0', since: '' },
});

function rig(controllers: Readonly<Record<string, OwnClientStatus | Unanswered>>, nodes: readonly NodeRecord[] = []) {
  const questions: (ClientStatusQuestion & { readonly to: readonly string[] })[] = [];
  const lines: object[] = [];
  const ask = createStatusElsewhere({
    peers: {
      others: () => Object.keys(controllers),
      async ask(question, among = Object.keys(controllers)) {
        questions.push({ ...(question as ClientStatusQuestion), to: among });
        const answers: unknown[] = [];
        const unanswered: Unanswered[] = [];
        for (const controller of among) {
          const one = controllers[controller];
          if (typeof one === 'function')
            answers.push({ controller, answer: await one(question as ClientStatusQuestion) });
          else if (one !== undefined) unanswered.push(one);
        }
        return { answers, unanswered } as never;
      },
    },
    records: { nodes: new Map(nodes.map((node) => [node.nodeId, node])) },
    log: { warn: (line: object) => void lines.push(line) } as never,
  });
  return { ask, questions, lines };
}

const request = (init: Parameters<typeof create<typeof ClientStatusRequestSchema>>[1] = {}): Uint8Array =>
  toBinary(ClientStatusRequestSchema, create(ClientStatusRequestSchema, init));

const everything = { request: request(), only: undefined, maxBytes: 64 * kibibyte * kibibyte };

function decoded({ answer }: Elsewhere): ClientStatusResponse {
  if (answer === undefined) throw new Error('it is too large');
  return fromBinary(ClientStatusResponseSchema, joinFrame(answer));
}

const nodesOf = (told: Elsewhere) => decoded(told).config.map(({ node }) => node?.id);

const silent = (controller: string, since = '2026-06-01T00:00:00.000Z'): Unanswered => ({
  ...{ controller, since, reason: 'it does not answer in time' },
});

describe('controllers that answer', () => {
  it('are joined to one answer, with all that each said', async () => {
    const { ask, lines } = rig({ b: controllerWith(['b1', 'b2']), c: controllerWith([]), d: controllerWith(['d1']) });
    const told = await ask(everything);
    expect(nodesOf(told)).toEqual(['b1', 'b2', 'd1']);
    expect(decoded(told).config.map(({ genericXdsConfigs }) => genericXdsConfigs.length)).toEqual([3, 3, 3]);
    expect(told.answer?.chunks.every(({ buffer }) => buffer instanceof SharedArrayBuffer)).toBe(true);
    expect(told.unknown).toEqual([]);
    expect(lines).toEqual([]);
  });

  it('are asked what was asked, of one proxy alone when it is one that asks', async () => {
    const { ask } = rig({ b: controllerWith(['b1', 'b2']), c: controllerWith(['c1', 'c2']) });
    const matching = request({ nodeMatchers: [{ nodeId: { matchPattern: { case: 'suffix', value: '2' } } }] });
    expect(nodesOf(await ask({ ...everything, request: matching }))).toEqual(['b2', 'c2']);
    expect(nodesOf(await ask({ ...everything, only: 'c1' }))).toEqual(['c1']);
    const brief = decoded(await ask({ ...everything, request: request({ excludeResourceContents: true }) }));
    expect(brief.config[0]?.genericXdsConfigs[0]).toMatchObject({ name: 'c0' });
    expect(brief.config[0]?.genericXdsConfigs[0]?.xdsConfig).toBeUndefined();
  });

  it('are none when this one is alone', async () => {
    const { ask, questions } = rig({});
    expect(await ask(everything)).toEqual({ answer: { chunks: [], sizeBytes: 0 }, unknown: [] });
    expect(questions).toEqual([]);
  });
});

describe('the room for all', () => {
  const whole = async (names: readonly string[], resources: number) =>
    (await rig({ b: controllerWith(names, resources) }).ask(everything)).answer?.sizeBytes ?? 0;

  it('is shared, and what some leave is for those who have more to tell', async () => {
    const names = ['b1', 'b2', 'b3', 'b4'];
    const size = await whole(names, 200);
    const controllers = { b: controllerWith(names, 200), c: controllerWith([]), d: controllerWith(['d1'], 1) };
    const { ask, questions } = rig(controllers);
    const told = await ask({ ...everything, maxBytes: size + kibibyte });
    expect(nodesOf(told)).toEqual(['d1', ...names]);
    expect(questions.map(({ to }) => to)).toEqual([['b', 'c', 'd'], ['b']]);
    expect(questions[0]?.maxBytes).toBe(Math.floor((size + kibibyte) / 3));
  });

  it('is not exceeded', async () => {
    const names = ['b1', 'b2', 'b3', 'b4'];
    const size = await whole(names, 200);
    const { ask, questions } = rig({ b: controllerWith(names, 200), c: controllerWith(names, 200) });
    expect((await ask({ ...everything, maxBytes: 2 * size - 1 })).answer).toBeUndefined();
    expect(questions.length).toBeLessThanOrEqual(2);
    expect((await ask({ ...everything, maxBytes: 2 * size })).answer?.sizeBytes).toBe(2 * size);
  });

  it('is not trusted to be kept by others', async () => {
    const { ask } = rig({ b: async () => [Buffer.alloc(100).toString('base64')] });
    expect((await ask({ ...everything, maxBytes: 99 })).answer).toBeUndefined();
  });
});

describe('a controller that does not answer', () => {
  const nodes = [record('b1', 'b'), record('c1', 'c'), record('c2', 'c', false), record('c3', 'c')];

  it('has its proxies named, as far as they are connected, and is in the log', async () => {
    const { ask, lines } = rig({ b: controllerWith(['b1']), c: silent('c') }, nodes);
    const told = await ask(everything);
    expect(nodesOf(told)).toEqual(['b1']);
    expect(told.unknown).toEqual([
      { id: 'c1', cluster: 'edge' },
      { id: 'c3', cluster: 'edge' },
    ]);
    expect(lines).toEqual([{ event: 'client_status_incomplete', controllers: [silent('c')], proxies: 2 }]);
  });

  it('is in the log once for each time that it is silent', async () => {
    const controllers: Record<string, OwnClientStatus | Unanswered> = { c: silent('c') };
    const { ask, lines } = rig(controllers, nodes);
    await ask(everything);
    await ask(everything);
    expect(lines).toHaveLength(1);
    controllers['c'] = controllerWith([]);
    await ask(everything);
    controllers['c'] = silent('c', '2026-06-01T00:01:00.000Z');
    await ask(everything);
    expect(lines).toHaveLength(2);
  });
});

describe('one that is asked', () => {
  it('says that a request of a later version cannot be answered', async () => {
    const later = Buffer.from(request({ nodeMatchers: [{ nodeMetadatas: [{}] }] })).toString('base64');
    const asked = controllerWith(['b1'])({ ask: 'clientStatus', request: later, maxBytes: kibibyte });
    await expect(asked).rejects.toMatchObject({ code: 'InvalidParameter' });
  });

  it('answers one after another, and not any number of them', async () => {
    const own = controllerWith(['b1']);
    const question = { ask: 'clientStatus', request: '', maxBytes: 64 * kibibyte } as const;
    const all = await Promise.allSettled(Array.from({ length: 20 }, () => own(question)));
    expect(all.filter(({ status }) => status === 'rejected')).toHaveLength(4);
    expect(all.at(-1)).toMatchObject({ reason: { code: 'TooManyRequests' } });
    await expect(own(question)).resolves.toHaveLength(1);
  });
});
