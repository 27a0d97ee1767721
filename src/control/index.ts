/**
 * control: the loop between the store and the View.
 *
 *   store ──watch──▶ mirror ──fork, settle, adopt──▶ world (kernel, graph, translation) ──▶ onAdopted
 *     ▲                                                                                        │
 *     └── transitions, searches (leader only) ◀── what proxies made of it ◀─────────────────────────┘
 *
 * One mirror per controller; commits and dry runs share its queue. The leader's loops (transition writer, searcher,
 * drainer, retention) are nudged and then look at the whole latest state; they hold nothing that could not be read
 * again. They are made anew for
 * each term of this controller (leader.ts), and what they write holds only as long as the term does.
 */
export type { Adoption, ObjectChange } from './adoption.ts';
export { type Changes, createChanges } from './changes.ts';
export { createClearing } from './clearing.ts';
export { createDrainer, type Drainer } from './drainer.ts';
export { type Held, oldestGood, pinOf } from './held.ts';
export { createLeader, fencedStore, type Leader, type LeaderOptions, type LeaderWork } from './leader.ts';
export { createMirror, type Mirror, type MirrorOptions } from './mirror.ts';
export { type Preview, preview, type Removal, type Write } from './preview.ts';
export type { Records } from './records.ts';
export { createRetention, type Retention, type RetentionLimits } from './retention.ts';
export { createSearcher, type Searcher, type SearcherOptions } from './searcher.ts';
export { createTransitionWriter, type TransitionWriter, type TransitionWriterOptions } from './transitions.ts';
export { createWorld, objectOf, type World } from './world.ts';
