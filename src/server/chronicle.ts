import type { Membership, RefusalLog } from '../api/index.ts';
import type { AuditRecord } from '../audit/index.ts';
import type { EventObserver } from '../observe/index.ts';
import type { EventReason } from '../status/index.ts';
import type { Progress } from '../xds/index.ts';
import { type Conviction, convictionOf, happeningOf, joinOf, refusalRecord } from './happenings.ts';

/** Takes what the rooms tell to those who keep it for people: events, and the audit. One per controller. */
export interface Chronicle {
  /** Something was seen of proxies. */
  seen(event: Progress): void;
  /** A node is there that nobody knew. */
  joined(node: string, fleet: string): void;
  /** An object was found to be at fault. */
  convicted(object: string, conviction: Conviction): void;
  /** A client of xDS is not let in. */
  notLetIn(peer: string, refusal: { readonly reason: 'unauthenticated' | 'denied'; readonly words: string }): void;
  /** The same membership, of which joins are told. */
  telling(membership: Membership): Membership;
  /** Something happened to this controller itself. */
  tell(reason: EventReason, message: string): void;
}

export interface ChronicleOptions {
  readonly events: EventObserver;
  readonly refusals: RefusalLog;
  /** Name of this controller. */
  readonly replica: string;
  /** Address of the client of a stream that is open. */
  readonly peerOf: (streamId: string) => string | undefined;
  readonly now: () => number;
}

export function createChronicle({ events, refusals, replica, peerOf, now }: ChronicleOptions): Chronicle {
  function note(record: AuditRecord): void {
    refusals.note(record, [record.who.name, record.from, record.detail].join('\n'));
  }

  const chronicle: Chronicle = {
    seen(event) {
      const happening = happeningOf(event, replica);
      if (happening === undefined) return;
      events.happened(happening, event.at);
      if (event.kind !== 'foreign') return;
      const who = { name: event.nodeId, kind: 'proxy' };
      const refusal = { code: 'Forbidden', words: happening.message } as const;
      note(refusalRecord(who, peerOf(event.streamId) ?? '', refusal, event.at));
    },
    joined: (node, fleet) => events.happened(joinOf(node, fleet), now()),
    convicted: (object, conviction) => events.happened(convictionOf(object, conviction), now()),
    notLetIn(peer, refusal) {
      const code = refusal.reason === 'denied' ? 'Forbidden' : 'Unauthenticated';
      // What it calls itself is not believed, and so not repeated.
      const who = { name: 'unknown', kind: 'certificate' };
      const record = refusalRecord(who, peer, { code, words: refusal.words }, now());
      note(record);
      chronicle.tell('AdmissionRefused', `${record.from} is not let in: ${refusal.words}`);
    },
    telling: (membership) => ({
      ...membership,
      async join(asked) {
        const grant = await membership.join(asked);
        chronicle.joined(grant.node, grant.fleet);
        return grant;
      },
    }),
    tell: (reason, message) => events.happened({ object: `Controller/${replica}`, reason, message }, now()),
  };
  return chronicle;
}
