import type { Command } from 'commander';
import type { Session } from './session.ts';

/** A command of this room: tells commander about its arguments and what to do with them. */
export interface CommandModule {
  define(command: Command, session: Session): void;
}

interface Entry {
  readonly name: string;
  readonly summary: string;
  readonly group: 'Run' | 'Objects' | 'Fleet' | 'Access' | 'Other';
}

/** Reads its own arguments: they belong to the process that it starts, not to a client of the REST API. */
export interface ProcessEntry extends Entry {
  run(argv: readonly string[]): Promise<unknown>;
}

/** Its module is loaded when it is called, or asked for its help. */
export interface ClientEntry extends Entry {
  load(): Promise<CommandModule>;
}

export const processCommands: readonly ProcessEntry[] = [
  {
    name: 'server',
    group: 'Run',
    summary: 'run a controller: REST API, store, xDS',
    run: async (argv) => (await import('../server/main.ts')).run(argv),
  },
  {
    name: 'demo',
    group: 'Run',
    summary: 'show it all on this machine: a server, an Envoy, backends, traffic',
    run: async (argv) => (await import('../demo/main.ts')).run(argv),
  },
];

export const clientCommands: readonly ClientEntry[] = [
  {
    name: 'envoy',
    group: 'Run',
    summary: 'run an Envoy that joins a fleet, or print its bootstrap',
    load: () => import('./commands/envoy.ts'),
  },
  {
    name: 'apply',
    group: 'Objects',
    summary: 'create or change objects to be as manifests say',
    load: () => import('./commands/apply.ts'),
  },
  {
    name: 'diff',
    group: 'Objects',
    summary: 'show what apply would change, in objects, conditions and proxies',
    load: () => import('./commands/diff.ts'),
  },
  {
    name: 'delete',
    group: 'Objects',
    summary: 'delete objects by name or by manifest',
    load: () => import('./commands/delete.ts'),
  },
  {
    name: 'get',
    group: 'Objects',
    summary: 'show objects, or watch them change',
    load: () => import('./commands/get.ts'),
  },
  {
    name: 'describe',
    group: 'Objects',
    summary: 'show all about objects, conditions included',
    load: () => import('./commands/describe.ts'),
  },
  {
    name: 'edit',
    group: 'Objects',
    summary: 'change an object in an editor',
    load: () => import('./commands/edit.ts'),
  },
  {
    name: 'wait',
    group: 'Objects',
    summary: 'wait until objects have a condition, or are gone',
    load: () => import('./commands/wait.ts'),
  },
  {
    name: 'proxies',
    group: 'Fleet',
    summary: 'show the proxies that are connected and what they have',
    load: () => import('./commands/proxies.ts'),
  },
  {
    name: 'explain',
    group: 'Fleet',
    summary: 'say where each part of a virtual service comes from, who has it, and why it is not up',
    load: () => import('./commands/explain.ts'),
  },
  {
    name: 'config',
    group: 'Fleet',
    summary: 'print the configuration of a proxy, or compare two',
    load: () => import('./commands/config.ts'),
  },
  {
    name: 'ca',
    group: 'Fleet',
    summary: 'show the authority of nodes and controllers, and replace its root',
    load: () => import('./commands/ca.ts'),
  },
  {
    name: 'status',
    group: 'Fleet',
    summary: 'show in short how the server, the proxies and the objects are',
    load: () => import('./commands/status.ts'),
  },
  {
    name: 'backup',
    group: 'Fleet',
    summary: 'save everything in the store to a file, secrets sealed',
    load: () => import('./commands/backup.ts'),
  },
  {
    name: 'restore',
    group: 'Fleet',
    summary: 'replace everything in the store by a backup',
    load: () => import('./commands/restore.ts'),
  },
  {
    name: 'token',
    group: 'Access',
    summary: 'make, list and take back API tokens, and tokens by which nodes join',
    load: () => import('./commands/token.ts'),
  },
  {
    name: 'whoami',
    group: 'Access',
    summary: 'say who the server takes you for, and what you were given',
    load: () => import('./commands/whoami.ts'),
  },
  {
    name: 'events',
    group: 'Fleet',
    summary: 'show what happened, or watch what happens',
    load: () => import('./commands/events.ts'),
  },
  {
    name: 'audit',
    group: 'Fleet',
    summary: 'show who did what, from where, and what it changed',
    load: () => import('./commands/audit.ts'),
  },
  {
    name: 'completion',
    group: 'Other',
    summary: 'print a script that completes commands, kinds and names in a shell',
    load: () => import('./commands/completion.ts'),
  },
  { name: 'version', group: 'Other', summary: 'print the version', load: () => import('./commands/version.ts') },
];
