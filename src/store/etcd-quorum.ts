/** What a member of etcd says about the cluster by itself, without asking the others. */
export interface MemberAnswer {
  /** Its id; where it would not say (it wants to know who asks), any word of its own. */
  readonly member: string;
  /** Ids of all members that elect; undefined: it would not say. */
  readonly voters: readonly string[] | undefined;
}

/** Asks one member, whose answer is worth nothing after `limitMs`; undefined: there is none. */
export type AskMember = (limitMs: number) => Promise<MemberAnswer | undefined>;

const askEveryMs = 200;

/**
 * So long ago can a question have been sent whose answer says that a member is there. A member that stands still
 * answers nothing, while its connections stay open: what counts is answers.
 */
const freshMs = 1_000;

/** The questions of one member. */
interface Heard {
  isAsked: boolean;
  /** When the newest question was sent that it has answered. */
  sentAt: number;
  member: string;
}

/**
 * Whether a majority of a cluster's members answers, which is what an election needs: as long as it does, there will be
 * a leader. Asks only while somebody wants to know. One per connection.
 *
 * Whether a leader is known is not asked: members name one that is gone until they miss it.
 */
export class EtcdQuorum {
  readonly #members: readonly AskMember[];
  readonly #heard: readonly Heard[];
  #voters: readonly string[] | undefined;
  #lookers = 0;
  #asking: NodeJS.Timeout | undefined;

  constructor(members: readonly AskMember[]) {
    this.#members = members;
    this.#heard = members.map(() => ({ isAsked: false, sentAt: Number.NEGATIVE_INFINITY, member: '' }));
  }

  /** Begins to ask the members, over and over, until what it gives is called. */
  look(): () => void {
    this.#lookers += 1;
    if (this.#lookers === 1) {
      this.#askAll();
      this.#asking = setInterval(() => this.#askAll(), askEveryMs);
    }
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#lookers -= 1;
      if (this.#lookers === 0) clearInterval(this.#asking);
    };
  }

  /**
   * Whether a majority has answered within the last second; no, where that cannot be told. A member alone elects
   * nobody. Where members do not say who else there is, those that the connection has are taken for all.
   */
  get answers(): boolean {
    const now = performance.now();
    const fresh = this.#heard.filter(({ sentAt }) => sentAt > now - freshMs);
    const present = new Set(fresh.map(({ member }) => member));
    const voters = this.#voters;
    const [count, all] =
      voters === undefined
        ? [present.size, this.#members.length]
        : [voters.filter((voter) => present.has(voter)).length, voters.length];
    return all > 1 && count > all / 2;
  }

  #askAll(): void {
    for (const [i, ask] of this.#members.entries()) void this.#ask(ask, this.#heard[i] as Heard);
  }

  async #ask(ask: AskMember, heard: Heard): Promise<void> {
    if (heard.isAsked) return;
    heard.isAsked = true;
    const sentAt = performance.now();
    const answer = await ask(freshMs);
    heard.isAsked = false;
    if (answer === undefined) return;
    heard.sentAt = sentAt;
    heard.member = answer.member;
    this.#voters = answer.voters ?? this.#voters;
  }
}
