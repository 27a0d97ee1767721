/** Holds a tree of source files to the plan of the house (house.ts). Knows nothing of the disk: tests feed it small trees. */
import { posix } from 'node:path';
import { emptyNames, homes, impure, type Room, rooms, sideDoors, soleImporters } from './house.ts';
import { type Import, readSource, type Source } from './imports.ts';

/** Contents by path below src/, with `/` between folders. Generated code is left out. */
export type Tree = ReadonlyMap<string, string>;

/** `control/mirror.ts:3 imports api: not below it`, without an order that means anything. */
export type Violation = string;

export interface Options {
  /** Packages that an installed Fairway has (`dependencies` of package.json). */
  readonly dependencies: readonly string[];
}

export function violations(tree: Tree, options: Options): Violation[] {
  const sources = new Map([...tree].map(([path, text]) => [path, readSource(path, text)]));
  const found: Violation[] = [];
  for (const [path, source] of sources) {
    const room = roomOf(path);
    if (room === undefined) {
      found.push(`${path} is in no room of the plan`);
      continue;
    }
    const name = posix.basename(path).replace(/\..*$/, '');
    if (emptyNames.test(name)) found.push(`${path} has a name that says nothing`);
    for (const one of source.imports) {
      for (const problem of problemsOf(path, room, one, tree, options)) found.push(`${path}:${one.line} ${problem}`);
    }
  }
  return [...found, ...missingDoors(sources), ...cycles(sources)];
}

/** The first room of the plan that the path lies in. */
export function roomOf(path: string): Room | undefined {
  return rooms.find((room) => {
    const pattern = room.path.replace('*', '(.+/)?');
    return new RegExp(`^${pattern}([./]|$)`).test(path);
  });
}

function problemsOf(path: string, room: Room, one: Import, tree: Tree, options: Options): string[] {
  const { specifier } = one;
  // The launcher chooses between TypeScript and built JavaScript; nobody else has a reason.
  if (specifier === undefined) return room.path === 'bin' ? [] : ['imports a name computed at run time'];
  if (!specifier.startsWith('.')) return packageProblems(path, room, specifier, one, options);
  const target = posix.join(posix.dirname(path), specifier);
  const other = roomOf(target);
  if (other === undefined) return [`imports ${specifier}, which is outside of the house`];
  if (other.path !== 'gen' && !tree.has(target)) return [`imports ${specifier}, which is not there`];
  if (other === room) return [];
  return roomProblems(room, other, target, one.kind);
}

function roomProblems(room: Room, other: Room, target: string, kind: Import['kind']): string[] {
  if (sideDoors.some((door) => door.file === target && door.for.includes(room.path))) return [];
  const lazy = room.lazy?.includes(other.path) === true;
  if (lazy && kind === 'static') return [`imports ${other.path} at once: only import() may reach it from ${room.path}`];
  if (!lazy && !room.imports.includes(other.path)) {
    return [`imports ${other.path} (ring ${other.ring}), which ${room.path} (ring ${room.ring}) may not`];
  }
  const doors = doorsOf(other, target);
  return doors.length === 0 || doors.includes(target) ? [] : [`imports ${target} past the door ${doors[0]}`];
}

/** Paths of the doors by which others enter the room that `inside` lies in; none where every file is one. */
function doorsOf(room: Room, inside: string): readonly string[] {
  if (room.doors === 'any') return [];
  // A path of one file is its own door; one with a star has as many doors as folders that match it.
  if (inside === `${room.path}.ts`) return [inside];
  const folder = new RegExp(`^${room.path.replace('*', '(.+/)?')}/`).exec(inside)?.[0] ?? `${room.path}/`;
  return room.doors.map((door) => `${folder}${door}`);
}

function packageProblems(path: string, room: Room, specifier: string, one: Import, options: Options): string[] {
  const problems: string[] = [];
  const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
  if (!specifier.startsWith('node:') && !options.dependencies.includes(name)) {
    problems.push(`imports ${specifier}, which an installed Fairway does not have`);
  }
  if (room.pure && impure.test(specifier)) problems.push(`imports ${specifier}, but ${room.path} is pure`);
  const home = homes.find(({ packages }) => packages.test(specifier));
  if (home !== undefined && !home.rooms.includes(room.path)) {
    problems.push(`imports ${specifier}, which lives in ${home.rooms.join(', ')}`);
  } else if (home?.files?.test(path) === false) {
    problems.push(`imports ${specifier}, which other files of ${room.path} do`);
  }
  for (const sole of soleImporters) {
    if (sole.room === room.path && sole.file !== path && one.names.includes(sole.name)) {
      problems.push(`imports ${sole.name}, which only ${sole.file} may`);
    }
  }
  return problems;
}

/** A door says what its room is for: shorter headers say a title. */
const headerChars = 80;

function missingDoors(sources: ReadonlyMap<string, Source>): Violation[] {
  const doors = new Set<string>();
  for (const path of sources.keys()) {
    const room = roomOf(path);
    for (const door of room === undefined ? [] : doorsOf(room, path).slice(0, 1)) doors.add(door);
  }
  return [...doors].flatMap((door) => {
    const source = sources.get(door);
    if (source === undefined) return [`${door} is missing: its room has no door`];
    return source.header.length < headerChars ? [`${door} does not say at its top what the room is for`] : [];
  });
}

/** Every import counts, those of types and lazy ones too: what refers to itself is one thing, or in the wrong place. */
function cycles(sources: ReadonlyMap<string, Source>): Violation[] {
  const found: Violation[] = [];
  const state = new Map<string, 'open' | 'done'>();
  const trail: string[] = [];
  const visit = (path: string): void => {
    state.set(path, 'open');
    trail.push(path);
    for (const { specifier } of sources.get(path)?.imports ?? []) {
      if (specifier?.startsWith('.') !== true) continue;
      const target = posix.join(posix.dirname(path), specifier);
      if (!sources.has(target)) continue;
      const reached = state.get(target);
      if (reached === undefined) visit(target);
      else if (reached === 'open') {
        found.push(`cycle: ${[...trail.slice(trail.indexOf(target)), target].join(' → ')}`);
      }
    }
    trail.pop();
    state.set(path, 'done');
  };
  for (const path of sources.keys()) if (!state.has(path)) visit(path);
  return found;
}
