import { list, number, object, ref, text, time } from './build.ts';

const span = object({ first: time, last: time });

/** What an answer gathered from all controllers lacks. */
const missingControllers = {
  ...list(
    object({
      controller: text,
      since: time,
      reason: text,
      proxies: { ...number, description: 'Attached to it when it was last heard of.' },
    }),
  ),
  description: 'Controllers that did not answer, whose proxies are not in here; absent when all did.',
};

export const proxySchemas = {
  Proxy: object({
    node: text,
    nodeId: text,
    fleet: text,
    version: text,
    connectedSince: time,
    replica: text,
    state: { enum: ['Synced', 'Pending', 'Rejected', 'Stalled'] },
    types: list(
      object({
        type: text,
        sent: number,
        acked: number,
        resources: number,
        pending: number,
        rejected: list(object({ name: text, message: text, since: time })),
      }),
    ),
  }),
  Controller: object({
    id: text,
    address: { ...text, description: 'REST; empty where it has no such door.' },
    xdsAddress: text,
    version: text,
    roles: list({ enum: ['api', 'xds', 'control'] }),
    startedAt: time,
    seenAt: time,
    state: { enum: ['Ready', 'Unreachable'] },
    leader: { type: 'boolean' },
    term: { ...number, description: 'Of the leader.' },
    leaderSince: time,
    revision: { ...text, description: 'Of its View.' },
    lag: { ...number, description: 'How many revisions the store was ahead of that.' },
    proxies: { ...number, description: 'Connected to it.' },
    memoryBytes: number,
    cpu: { type: 'number', description: "Processors' worth of time that it uses." },
  }),
  ControllerList: object({ metadata: object({ revision: text }), items: list(ref('Controller')) }),
  ProxyList: object({ metadata: object({ revision: text }), items: list(ref('Proxy')), missing: missingControllers }),
  ProxyConfig: object({
    metadata: object({ revision: text }),
    node: text,
    items: list(
      object({
        type: text,
        name: text,
        state: { enum: ['acknowledged', 'pending', 'rejected', 'removed'] },
        wanted: { ...text, description: 'Version that it should have.' },
        sent: text,
        acknowledged: text,
        message: { ...text, description: 'The words of the proxy, when it refused the wanted form.' },
        from: { ...list(text), description: 'The objects that it is made from.' },
        content: { description: 'What it should have, as Envoy documents it.' },
      }),
    ),
  }),
  Comparison: object({
    proxies: { ...number, description: 'Streams of proxies that are being compared.' },
    missing: missingControllers,
  }),
  Explanation: object({
    service: text,
    generation: number,
    servedGeneration: number,
    fleet: object({ name: text, exists: { type: 'boolean' }, why: text, proxies: number }),
    problems: list(object({ condition: text, reason: text, message: text })),
    sockets: list(
      object({
        address: text,
        port: number,
        served: { type: 'boolean' },
        owner: text,
        listener: text,
        chains: list(object({ listeners: list(text), goesTo: text, certificates: list(text) })),
      }),
    ),
    hosts: list(
      object({
        table: text,
        listener: text,
        host: text,
        owner: text,
        rules: list(object({ from: text, rule: text, match: text, action: text })),
        otherwise: text,
      }),
    ),
    resources: list(
      object({
        type: text,
        name: text,
        version: text,
        from: list(text),
        proxies: object({
          acknowledged: number,
          of: number,
          waitingFor: list(text),
          rejectedBy: list(object({ node: text, message: text })),
        }),
      }),
    ),
  }),
  Restored: object({
    entries: number,
    revision: { ...text, description: 'Of the store from now on.' },
    backup: object({ revision: text, createdAt: time }),
  }),
  Commit: object({
    revision: text,
    settledWith: { ...text, description: 'Commits that wait are taken in together: the revision of the step.' },
    committed: time,
    settled: time,
    resources: number,
    proxies: object({ concerned: number, acknowledged: number, waitingFor: list(text) }),
    sent: span,
    acknowledged: span,
    missing: missingControllers,
  }),
};
