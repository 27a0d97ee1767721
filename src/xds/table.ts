/**
 * The resource table: one for the whole server, not a snapshot per node. It says what every stream should have:
 * a stream gets the resources whose audience it has, and has the union of the audiences of its two subjects,
 * `cluster/<node.cluster>` and `node/<node.id>`. Entries are immutable and shared by all streams.
 */
import { InvariantError } from '../lib/errors.ts';
import { addTo, getOrMake, removeFrom } from '../lib/multi-map.ts';
import { type ChangeLog, createChangeLog } from './change-log.ts';
import { type Commit, type Resource, type TypeUrl, typeUrls } from './resource.ts';
import { wildcardName } from './subscription.ts';
import { resourceHead } from './wire.ts';

export interface Entry {
  readonly resource: Resource;
  /** Revision of the last change of content or audience. */
  readonly revision: number;
  /** What stands before `resource.bytes` in a response. */
  readonly head: Uint8Array;
  /** Of a cluster: the endpoint assignments that it uses, as far as its needs name them. */
  readonly assignments: readonly string[];
  /** Hashes of the forms that this one replaced, newest first; at most {@link maxPast}. */
  readonly past: readonly string[];
  /** It stands in for the newest form, which waits for what it needs. */
  readonly isPart?: true;
  /** It is an older form, as of `revision`, in place of one that is not to be sent. */
  readonly isOlder?: true;
}

/** A proxy that was away for longer than so many changes of one resource is brought up to date a little later. */
const maxPast = 8;

export interface Table {
  /** Revision of the last commit; 0 before the first. */
  readonly revision: number;
  /** False until the first commit: nothing is answered from a table that is not complete. */
  readonly ready: boolean;
  readonly log: ChangeLog;
  /** Takes a commit in whole and logs what it changed. Revisions never go back. */
  apply(commit: Commit): void;
  get(type: TypeUrl, name: string): Entry | undefined;
  namesOf(type: TypeUrl, audience: string): ReadonlySet<string>;
  /** Types of which the audience has at least one resource. */
  typesOf(audience: string): Iterable<TypeUrl>;
  /** The union of the audiences of a node's subjects. */
  audiencesOf(node: { readonly id: string; readonly cluster: string }): Set<string>;
  /** The longest drain time of the node's subjects; undefined when none says one. */
  drainMsOf(node: { readonly id: string; readonly cluster: string }): number | undefined;
  /** Endpoint assignments that a cluster uses: those among its needs, else one of its own name when there is one. */
  assignmentsOf(cluster: Entry): readonly string[];
  /** Names of the clusters that use the endpoint assignment. */
  clustersUsing(assignment: string): ReadonlySet<string>;
  /** The table's own string for a name, so that a thousand streams do not keep a thousand copies of it. */
  intern(type: TypeUrl, name: string): string;
}

export interface TableOptions {
  /** Changes that the log keeps for readers that lag. */
  readonly maxLogEntries?: number;
}

/** A fleet-wide edit of 10,000 services touches some 50,000 resources; two of those still fit. */
const defaultLogEntries = 100_000;

const nothing: ReadonlySet<string> = new Set();

export function subjectsOf(node: { readonly id: string; readonly cluster: string }): readonly [string, string] {
  return [`cluster/${node.cluster}`, `node/${node.id}`];
}

/** An entry for a resource of which there is no earlier form. */
export function entryOf(resource: Resource, revision: number): Entry {
  const assignments =
    resource.type === typeUrls.cluster
      ? resource.needs.filter((need) => need.type === typeUrls.endpoint).map((need) => need.name)
      : [];
  return { resource, revision, head: resourceHead(resource.bytes.byteLength), assignments, past: [] };
}

export function createTable(options: TableOptions = {}): Table {
  const log = createChangeLog(options.maxLogEntries ?? defaultLogEntries);
  const entries = new Map<TypeUrl, Map<string, Entry>>();
  const byAudience = new Map<string, Map<TypeUrl, Set<string>>>();
  const subjects = new Map<string, Commit['audiences'][number]>();
  const users = new Map<string, Set<string>>();
  let revision = 0;
  let ready = false;

  function put(given: Resource): void {
    if (given.name === wildcardName) throw new InvariantError('a resource cannot be called * (rule 6)');
    const byName = getOrMake(entries, given.type, () => new Map<string, Entry>());
    const before = byName.get(given.name);
    // The string that the streams have: a thousand comparisons of one string with itself cost next to nothing.
    const resource = before === undefined ? given : { ...given, name: before.resource.name };
    const unchanged =
      before !== undefined && before.resource.hash === resource.hash && before.resource.audience === resource.audience;
    if (before !== undefined) unlink(before);
    const entry = entryOf(resource, revision);
    const { assignments } = entry;
    byName.set(
      resource.name,
      unchanged
        ? // Equal content keeps the bytes that streams already refer to, but takes in who it was made from.
          { ...before, resource: { ...resource, bytes: before.resource.bytes }, assignments }
        : { ...entry, past: before === undefined ? [] : [before.resource.hash, ...before.past].slice(0, maxPast) },
    );
    const byType = getOrMake(byAudience, resource.audience, () => new Map<TypeUrl, Set<string>>());
    addTo(byType, resource.type, resource.name);
    for (const assignment of assignments) addTo(users, assignment, resource.name);
    if (unchanged) return;
    log.append({
      kind: 'resource',
      revision,
      type: resource.type,
      name: resource.name,
      before: before?.resource.audience,
      after: resource.audience,
    });
  }

  function remove(type: TypeUrl, name: string): void {
    const before = entries.get(type)?.get(name);
    if (before === undefined) return;
    unlink(before);
    entries.get(type)?.delete(name);
    log.append({ kind: 'resource', revision, type, name, before: before.resource.audience, after: undefined });
  }

  /** Takes an entry out of the indexes. */
  function unlink(entry: Entry): void {
    const { type, name, audience } = entry.resource;
    const byType = byAudience.get(audience);
    if (byType !== undefined) removeFrom(byType, type, name);
    if (byType?.size === 0) byAudience.delete(audience);
    for (const assignment of entry.assignments) removeFrom(users, assignment, name);
  }

  return {
    get revision() {
      return revision;
    },
    get ready() {
      return ready;
    },
    log,
    apply(commit) {
      if (commit.revision < revision) {
        throw new InvariantError(`applying commit ${commit.revision}: the table is at ${revision} already`);
      }
      revision = commit.revision;
      ready = true;
      for (const { type, name } of commit.removals) remove(type, name);
      for (const resource of commit.puts) put(resource);
      for (const row of commit.audiences) {
        const { subject } = row;
        if (row.audiences.length === 0) subjects.delete(subject);
        else subjects.set(subject, row);
        log.append({ kind: 'subject', revision, subject });
      }
    },
    get(type, name) {
      return entries.get(type)?.get(name);
    },
    namesOf(type, audience) {
      return byAudience.get(audience)?.get(type) ?? nothing;
    },
    typesOf(audience) {
      return byAudience.get(audience)?.keys() ?? [];
    },
    audiencesOf(node) {
      const audiences = new Set<string>();
      for (const subject of subjectsOf(node)) {
        for (const audience of subjects.get(subject)?.audiences ?? []) audiences.add(audience);
      }
      return audiences;
    },
    drainMsOf(node) {
      const times = subjectsOf(node).flatMap((subject) => subjects.get(subject)?.drainMs ?? []);
      return times.length === 0 ? undefined : Math.max(...times);
    },
    assignmentsOf(cluster) {
      if (cluster.assignments.length > 0) return cluster.assignments;
      const { name } = cluster.resource;
      return entries.get(typeUrls.endpoint)?.has(name) ? [name] : [];
    },
    clustersUsing(assignment) {
      const named = users.get(assignment);
      if (named !== undefined) return named;
      const same = entries.get(typeUrls.cluster)?.get(assignment);
      return same !== undefined && same.assignments.length === 0 ? new Set([assignment]) : nothing;
    },
    intern(type, name) {
      return entries.get(type)?.get(name)?.resource.name ?? name;
    },
  };
}
