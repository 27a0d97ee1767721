import type { Verdicts } from '../graph/index.ts';

import type { CertificateSpec, Condition, FairwayObject, ObjectKey } from '../model/index.ts';
import { inspectOnce } from './certificate.ts';
import { type ConditionDraft, stamp } from './conditions.ts';
import { type DrainingMember, memberStatus } from './members.ts';
import { type Delivery, type HeldBack, type ProgrammedInput, programmed, type Realization } from './programmed.ts';
import { type NodeRecord, shortType, type Transition } from './records.ts';

/** Everything that the status of an object follows from. Read when the status is asked for; nothing is stored. */
export interface StatusSources {
  verdicts(key: ObjectKey): Verdicts | undefined;
  /** What went wrong inside while deriving from the object: a bug, told as InternalError. */
  failure(key: ObjectKey): Error | undefined;
  /** For each resource that the object became, how far each proxy is. */
  deliveries(key: ObjectKey): readonly (readonly Delivery[])[];
  /** What was decided about the object in this generation, where proxies refused it. */
  held(key: ObjectKey, object: { readonly uid: string; readonly generation: number }): HeldBack | undefined;
  /** Of the object with that uid. */
  transitions(key: ObjectKey, uid: string): readonly Transition[];
  /** Members that have left a pool and may end what they have begun. */
  draining(key: ObjectKey): readonly DrainingMember[];
  referrers(key: ObjectKey): readonly ObjectKey[];
  node(name: string): NodeStatus | undefined;
  /** The newest certificate of the Node with that uid; undefined: it has none, or one from elsewhere. */
  nodeCertificate(name: string, uid: string): NodeCertificate | undefined;
  /** Whether a Fleet of that name exists. */
  fleetExists(name: string): boolean;
  /** Proxies of a fleet, each with whether it has all that it should have. */
  fleetProxies(fleet: string): readonly Delivery[];
}

export interface NodeStatus {
  readonly record: NodeRecord;
  /** Whether it has a stream now; the record follows within moments. */
  readonly connected: boolean;
  readonly types: readonly {
    readonly type: string;
    /** Revision of the configuration in the last response sent, and in the last one acknowledged. */
    readonly sent: number;
    readonly acked: number;
    /** Resources acknowledged, and refused. */
    readonly resources: number;
    readonly nack: number;
  }[];
  /** What it has been late with, while it is. */
  readonly stall?: Stall | undefined;
  readonly delivery: Delivery | undefined;
}

/** By which a member of the installation is known. Times are RFC 3339. */
export interface NodeCertificate {
  readonly serial: string;
  readonly issuedAt: string;
  readonly notAfter: string;
}

/** Something that a proxy should have answered for, or been ready with, by now. */
export interface Stall {
  readonly type: string;
  /** A few of them. */
  readonly names: readonly string[];
  /** What was not ready when these were sent all the same; undefined: these themselves have no answer. */
  readonly missing: { readonly type: string; readonly name: string } | undefined;
  /** In milliseconds since 1970. */
  readonly at: number;
}

export interface ObjectStatus {
  readonly observedGeneration: number;
  readonly conditions: readonly Condition[];
  readonly [field: string]: unknown;
}

/** Days before the end of a certificate from which on its status says Expiring. */
const expiringDays = 30;
const dayMs = 86_400_000;

export function statusOf(key: ObjectKey, object: FairwayObject, sources: StatusSources, nowMs: number): ObjectStatus {
  const { drafts, fields } = draftsOf(key, object, sources, nowMs);
  const { generation, uid } = object.metadata;
  const conditions = stamp(drafts, generation, sources.transitions(key, uid), new Date(nowMs).toISOString());
  return { observedGeneration: generation, conditions, ...fields };
}

/** The conditions as they are now and the further fields of the kind; `statusOf` adds the times. */
export function draftsOf(
  key: ObjectKey,
  object: FairwayObject,
  sources: StatusSources,
  nowMs: number,
): { drafts: readonly ConditionDraft[]; fields: Readonly<Record<string, unknown>> } {
  const failure = sources.failure(key);
  const verdicts = sources.verdicts(key);
  const fromGraph: readonly ConditionDraft[] =
    failure === undefined ? (verdicts?.conditions ?? []) : [internalError(failure)];
  switch (object.kind) {
    case 'Scope':
      return { drafts: fromGraph.filter(({ type }) => type === 'Accepted'), fields: {} };
    case 'RoleBinding':
      return { drafts: fromGraph, fields: {} };
    case 'Node':
      return nodeStatus(fromGraph, sources, object.metadata);
    case 'Fleet': {
      const proxies = sources.fleetProxies(object.metadata.name);
      const { condition, realization } = programmed({
        ...subject(key, object, sources),
        deliveries: [proxies],
        nothing: nothingOf(object, fromGraph),
      });
      return {
        drafts: [...without(fromGraph, 'ResolvedRefs'), condition],
        fields: { realization, usedBy: usedBy(key, sources) },
      };
    }
    case 'Certificate': {
      const { drafts, facts } = certificateStatus(fromGraph, object.spec, nowMs);
      const { condition, realization } = programmedOf(key, object, drafts, sources);
      return {
        drafts: [...without(drafts, 'ResolvedRefs'), condition],
        fields: { ...facts, realization, usedBy: usedBy(key, sources) },
      };
    }
    default: {
      const { condition, realization } = programmedOf(key, object, fromGraph, sources);
      const attachments = verdicts?.attachments;
      const fields = {
        realization,
        ...(object.kind === 'BackendPool'
          ? { members: memberStatus(object.spec, sources.draining(key)), usedBy: usedBy(key, sources) }
          : {}),
        ...(attachments === undefined ? {} : { attachments }),
      };
      return { drafts: [...fromGraph, condition], fields };
    }
  }
}

function internalError(failure: Error): ConditionDraft {
  return {
    type: 'Accepted',
    status: 'False',
    reason: 'InternalError',
    message: `${failure.message}: please report this; other objects are not affected`,
  };
}

function subject(key: ObjectKey, object: FairwayObject, sources: StatusSources) {
  const { generation } = object.metadata;
  return {
    generation,
    deliveries: sources.deliveries(key),
    held: sources.held(key, object.metadata),
  };
}

/** Why an object may have become no resource. What only others use is not served until somebody does, well or ill. */
function nothingOf({ kind }: FairwayObject, drafts: readonly ConditionDraft[]): ProgrammedInput['nothing'] {
  const isUsed = kind !== 'VirtualService' && kind !== 'Route';
  if (drafts.some(({ reason }) => reason === 'Disabled')) {
    return { status: 'False', reason: 'Disabled', message: 'it is disabled' };
  }
  const problem = drafts.find(({ status, reason }) => status === 'False' && (!isUsed || reason === 'InternalError'));
  if (problem !== undefined) {
    return { status: 'False', reason: 'NotAccepted', message: `nothing of it is served: see ${problem.type}` };
  }
  if (isUsed) {
    return { status: 'Unknown', reason: 'NotReferenced', message: 'no virtual service that is served uses it' };
  }
  const message = kind === 'Route' ? 'no listener that it is attached to is served' : 'nothing of it is served';
  return { status: 'False', reason: 'NotAccepted', message };
}

function programmedOf(
  key: ObjectKey,
  object: FairwayObject,
  drafts: readonly ConditionDraft[],
  sources: StatusSources,
): { condition: ConditionDraft; realization: Realization } {
  return programmed({ ...subject(key, object, sources), nothing: nothingOf(object, drafts) });
}

function without(drafts: readonly ConditionDraft[], type: string): readonly ConditionDraft[] {
  return drafts.filter((draft) => draft.type !== type);
}

function usedBy(key: ObjectKey, sources: StatusSources): readonly string[] {
  return sources.referrers(key);
}

function certificateStatus(drafts: readonly ConditionDraft[], spec: CertificateSpec, nowMs: number) {
  const inspected = inspectOnce(spec, nowMs);
  if (!inspected.ok) {
    const message = inspected.error.map((error) => `${error.pointer}: ${error.message}`).join('; ');
    const accepted: ConditionDraft = { type: 'Accepted', status: 'False', reason: 'Expired', message };
    return { drafts: [accepted, ...without(drafts, 'Accepted')], facts: {} };
  }
  const { subject: name, sans, notAfter, fingerprint } = inspected.value;
  const daysLeft = Math.floor((Date.parse(notAfter) - nowMs) / dayMs);
  const facts = {
    subject: name,
    subjectAltNames: sans,
    notAfter,
    daysLeft,
    expiring: daysLeft < expiringDays,
    fingerprint,
  };
  return { drafts, facts };
}

function nodeStatus(
  drafts: readonly ConditionDraft[],
  sources: StatusSources,
  { name, uid }: { readonly name: string; readonly uid: string },
) {
  const issued = sources.nodeCertificate(name, uid);
  const certificate = issued === undefined ? {} : { certificate: issued };
  const node = sources.node(name);
  const accepted =
    node === undefined || sources.fleetExists(node.record.fleet)
      ? without(drafts, 'ResolvedRefs')
      : [fleetMissing(node.record)];
  if (node === undefined) {
    const message = 'no proxy with this node id has ever connected';
    return {
      drafts: [...accepted, { type: 'Connected', status: 'False' as const, reason: 'NotConnected', message }],
      fields: { phase: 'Disconnected', ...certificate },
    };
  }
  const { record, connected: isConnected, types, delivery, stall } = node;
  // What the record says of another state has no time yet.
  const since = record.connected === isConnected ? record.since : undefined;
  const connected: ConditionDraft = isConnected
    ? { type: 'Connected', status: 'True', reason: 'Connected', message: '' }
    : {
        type: 'Connected',
        status: 'False',
        reason: 'NotConnected',
        message: `the proxy is not connected${since === undefined ? '' : ` since ${since}`}; it goes on serving what it has`,
      };
  const { condition } = programmed({
    generation: 0,
    deliveries: delivery === undefined ? [] : [[delivery]],
    held: undefined,
    nothing: { reason: 'NoProxies', message: 'the proxy is not connected', status: 'Unknown' },
  });
  const fields = {
    phase: isConnected ? 'Connected' : 'Disconnected',
    nodeId: record.nodeId,
    fleet: record.fleet,
    ...certificate,
    envoy: { version: record.version, connected: isConnected, ...(since === undefined ? {} : { since }), types },
  };
  const late = stall === undefined || condition.status === 'True' ? condition : stalled(condition, stall);
  return { drafts: [...accepted, connected, late], fields };
}

/** Traffic goes on by what the proxy had before; what is new waits with it. */
function stalled(condition: ConditionDraft, { type, names, missing, at }: Stall): ConditionDraft {
  if (condition.reason !== 'Pending') return condition;
  const noun = shortType(type);
  const since = new Date(at).toISOString();
  const message =
    missing === undefined
      ? `at ${since} it had still not answered for ${noun} ${names.join(', ')}: it waits for one of them to get ready; they are sent again`
      : `at ${since} ${noun} ${names.join(', ')} was sent although ${shortType(missing.type)} ${missing.name} was not ready`;
  return { ...condition, reason: 'Stalled', message };
}

function fleetMissing({ fleet }: NodeRecord): ConditionDraft {
  const named =
    fleet === ''
      ? 'the proxy names no fleet (node.cluster is empty)'
      : `the proxy names Fleet ${fleet}, which does not exist`;
  return {
    type: 'Accepted',
    status: 'False',
    reason: 'FleetMissing',
    message: `${named}: it gets an empty configuration until the Fleet is created`,
  };
}
