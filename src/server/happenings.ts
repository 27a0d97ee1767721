import type { AuditRecord } from '../audit/index.ts';
import { splitHostPort } from '../config/index.ts';
import { nodeName } from '../observe/index.ts';
import type { EventReason, Happening } from '../status/index.ts';
import type { Need, Progress } from '../xds/index.ts';
import type { PeerRefusal } from '../xds/io/index.ts';
import { shortType } from './proxy-config.ts';

/** What there is to tell of something that was seen of proxies; undefined: nothing. */
export function happeningOf(event: Progress, replica: string): Happening | undefined {
  switch (event.kind) {
    case 'opened': {
      const { version, cluster } = event.node;
      return ofNode(
        event.nodeId,
        'ProxyConnected',
        `version ${version || 'unknown'} of fleet ${cluster || '(none)'} connected`,
      );
    }
    case 'closed':
      return ofNode(event.nodeId, 'ProxyDisconnected', 'its stream has ended');
    case 'rejected': {
      const { nodeId, type, name, words, parts } = event;
      const [part, ...others] = parts;
      const message = `${nodeName(nodeId)} refused ${shortType(type)} ${name}: ${words}`;
      // Where several objects may be at fault, it is told of the proxy.
      if (part === undefined || others.length > 0) return ofNode(nodeId, 'ConfigurationRejected', message);
      return { object: part.unit, reason: 'ConfigurationRejected', message };
    }
    case 'withheld': {
      const { type, name, words, version, parts } = event;
      const message = `${shortType(type)} ${name} is not sent: ${version} refused this form before: ${words}`;
      return { object: parts[0]?.unit ?? `Controller/${replica}`, reason: 'ConfigurationWithheld', message };
    }
    case 'stalled': {
      const { nodeId, reason, type, names, missing } = event;
      const what = `${shortType(type)} ${names.join(', ')}`;
      const words =
        reason === 'answer' ? `no answer for ${what}` : `${what} was sent though ${needOf(missing)} is not ready`;
      return ofNode(nodeId, 'ProxyStalled', words);
    }
    default:
      return undefined;
  }
}

function needOf(need: Need | undefined): string {
  return need === undefined ? 'something it needs' : `${shortType(need.type)} ${need.name}`;
}

function ofNode(nodeId: string, reason: EventReason, message: string): Happening {
  return { object: `Node/${nodeName(nodeId)}`, reason, message };
}

/** What a client of xDS was refused, in its own words and in those that do for more of the kind. */
export interface XdsRefusal {
  /** Of whom so many different ones are told. */
  readonly subject: string;
  readonly particular: ToldRefusal;
  readonly general: ToldRefusal;
}

export interface ToldRefusal {
  readonly happening: Happening;
  readonly record: RecordedRefusal;
}

export interface RecordedRefusal {
  readonly who: AuditRecord['who'];
  /** Address, without the port, which is another one each time. */
  readonly from: string;
  readonly code: 'Unauthenticated' | 'Forbidden';
  readonly words: string;
}

/** A proxy asked for a secret of another fleet. */
export function foreignOf(
  { nodeId, type, name, cluster }: Extract<Progress, { readonly kind: 'foreign' }>,
  peer: string,
): XdsRefusal {
  const told = (words: string): ToldRefusal => ({
    happening: ofNode(nodeId, 'SecretRefused', words),
    record: { who: { name: nodeId, kind: 'proxy' }, from: hostOf(peer), code: 'Forbidden', words },
  });
  return {
    subject: `secrets of ${nodeId}`,
    particular: told(`it asked for ${shortType(type)} ${name}, which fleet ${cluster} has none of`),
    general: told(`it asked for more secrets that fleet ${cluster} has none of`),
  };
}

/** A client was not let in: whom its certificate names was; or nobody is known to have been. */
export function admissionOf(peer: string, { reason, words, identity }: PeerRefusal, replica: string): XdsRefusal {
  const from = hostOf(peer);
  if (identity !== undefined) {
    const { nodeId } = identity;
    const told = (why: string): ToldRefusal => ({
      happening: ofNode(nodeId, 'AdmissionRefused', `${from} is not let in: ${why}`),
      record: { who: { name: nodeId, kind: 'proxy' }, from, code: 'Forbidden', words: why },
    });
    return {
      subject: `claims of ${nodeId}`,
      particular: told(words),
      general: told('with the certificate it claims to be many others'),
    };
  }
  const code = reason === 'denied' ? 'Forbidden' : 'Unauthenticated';
  // What it calls itself is not believed, and so not repeated.
  const told = (where: string, why: string): ToldRefusal => ({
    happening: {
      object: `Controller/${replica}`,
      reason: 'AdmissionRefused',
      message: `${where} is not let in: ${why}`,
    },
    record: { who: { name: 'unknown', kind: 'certificate' }, from: where, code, words: why },
  });
  return {
    subject: 'unknown',
    particular: told(from, words),
    general: told('several', 'more clients that are not known'),
  };
}

/** As the audit keeps it. */
export function refusalRecord({ who, from, code, words }: RecordedRefusal, at: number): AuditRecord {
  return {
    at: new Date(at).toISOString(),
    who,
    from,
    requestId: '',
    request: 'xDS stream',
    outcome: 'refused',
    code,
    detail: words,
    objects: [],
  };
}

function hostOf(peer: string): string {
  return splitHostPort(peer)?.host ?? '';
}

/** The generation that was refused, the one that goes on being served, and the words of the proxy. */
export interface Conviction {
  readonly refused: number;
  readonly good: number | null;
  readonly words: string;
}

/** What there is to tell of an object that was found to be at fault. */
export function convictionOf(object: string, { refused, good, words }: Conviction): Happening {
  const served = good === null ? 'nothing of it is served' : `generation ${good} goes on being served`;
  return { object, reason: 'ObjectConvicted', message: `generation ${refused} is held back, ${served}: ${words}` };
}

export function joinOf(node: string, fleet: string): Happening {
  return { object: `Node/${node}`, reason: 'NodeRegistered', message: `it joined fleet ${fleet}` };
}
