import type { Membership, RefusalLog } from '../api/index.ts';
import type { EventObserver } from '../observe/index.ts';
import type { EventReason } from '../status/index.ts';
import type { Progress } from '../xds/index.ts';
import type { PeerRefusal } from '../xds/io/index.ts';
import {
  admissionOf,
  type Conviction,
  convictionOf,
  foreignOf,
  happeningOf,
  joinOf,
  refusalRecord,
  type XdsRefusal,
} from './happenings.ts';
import { createVariety } from './variety.ts';

/** Takes what the rooms tell to those who keep it for people: events, and the audit. One per controller. */
export interface Chronicle {
  /** Something was seen of proxies. */
  seen(event: Progress): void;
  /** A node is there that nobody knew. */
  joined(node: string, fleet: string): void;
  /** An object was found to be at fault. */
  convicted(object: string, conviction: Conviction): void;
  /** A client of xDS is not let in. */
  notLetIn(peer: string, refusal: PeerRefusal): void;
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

/** Different claims, or secrets, that are told of one proxy; and clients that nobody knows, each by its address. */
const claimsTold = { limit: 20, windowMs: 600_000, subjects: 1_000 };

export function createChronicle({ events, refusals, replica, peerOf, now }: ChronicleOptions): Chronicle {
  const variety = createVariety(claimsTold);

  /** As an event and for the audit; both count repeats, by the words. */
  function refused({ subject, particular, general }: XdsRefusal, at: number): void {
    const { happening, record } = variety.takes(subject, particular.happening.message, at) ? particular : general;
    events.happened(happening, at);
    refusals.note(refusalRecord(record, at), [record.who.name, record.from, record.words].join('\n'));
  }

  const chronicle: Chronicle = {
    seen(event) {
      if (event.kind === 'foreign') {
        refused(foreignOf(event, peerOf(event.streamId) ?? ''), event.at);
        return;
      }
      const happening = happeningOf(event, replica);
      if (happening !== undefined) events.happened(happening, event.at);
    },
    joined: (node, fleet) => events.happened(joinOf(node, fleet), now()),
    convicted: (object, conviction) => events.happened(convictionOf(object, conviction), now()),
    notLetIn: (peer, refusal) => refused(admissionOf(peer, refusal, replica), now()),
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
