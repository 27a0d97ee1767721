/** Which streams a change concerns: by audience, and by subject. */
import { addTo, removeFrom } from '../lib/multi-map.ts';
import type { NodeInfo } from './node-info.ts';
import { finish, type Pieces } from './pieces.ts';
import type { Session } from './session.ts';
import { subjectsOf, type Table } from './table.ts';

/** A stream of the roster. */
export interface Enrolled {
  readonly session: Session;
}

export interface Roster<T extends Enrolled> {
  /** Another number whenever some audience has other streams. */
  readonly edition: number;
  /** The node of the stream became known. */
  join(stream: T, node: NodeInfo): void;
  /** Gives the stream the audiences that its subjects have now; what that changes is looked at in pieces. */
  assign(stream: T, node: NodeInfo): Pieces;
  leave(stream: T): void;
  withAudience(audience: string): ReadonlySet<T>;
  withSubject(subject: string): ReadonlySet<T>;
}

const nobody: ReadonlySet<never> = new Set();

export function createRoster<T extends Enrolled>(table: Table): Roster<T> {
  const byAudience = new Map<string, Set<T>>();
  const bySubject = new Map<string, Set<T>>();
  let edition = 0;

  function* assign(stream: T, node: NodeInfo): Pieces {
    const before = stream.session.stream.audiences;
    const after = table.audiencesOf(node);
    for (const audience of before) if (!after.has(audience)) removeFrom(byAudience, audience, stream);
    for (const audience of after) if (!before.has(audience)) addTo(byAudience, audience, stream);
    edition += 1;
    yield* stream.session.setAudiences(after);
  }

  return {
    get edition() {
      return edition;
    },
    join(stream, node) {
      for (const subject of subjectsOf(node)) addTo(bySubject, subject, stream);
      // It has not asked for anything, so there is nothing to be looked at.
      finish(assign(stream, node));
    },
    assign,
    leave(stream) {
      const { node, audiences } = stream.session.stream;
      if (node !== undefined) for (const subject of subjectsOf(node)) removeFrom(bySubject, subject, stream);
      for (const audience of audiences) removeFrom(byAudience, audience, stream);
      edition += 1;
    },
    withAudience: (audience) => byAudience.get(audience) ?? nobody,
    withSubject: (subject) => bySubject.get(subject) ?? nobody,
  };
}
