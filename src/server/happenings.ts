import type { AuditRecord } from '../audit/index.ts';
import { splitHostPort } from '../config/index.ts';
import { nodeName } from '../observe/index.ts';
import type { EventReason, Happening } from '../status/index.ts';
import type { Need, Progress } from '../xds/index.ts';
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
    case 'foreign': {
      const { nodeId, type, name, cluster } = event;
      return ofNode(
        nodeId,
        'SecretRefused',
        `it asked for ${shortType(type)} ${name}, which fleet ${cluster} has none of`,
      );
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

/** A client of xDS that was refused something, for the audit. */
export function refusalRecord(
  who: AuditRecord['who'],
  peer: string,
  { code, words }: { readonly code: 'Unauthenticated' | 'Forbidden'; readonly words: string },
  at: number,
): AuditRecord {
  return {
    at: new Date(at).toISOString(),
    who,
    // Without the port, which is another one each time.
    from: splitHostPort(peer)?.host ?? '',
    requestId: '',
    request: 'xDS stream',
    outcome: 'refused',
    code,
    detail: words,
    objects: [],
  };
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
