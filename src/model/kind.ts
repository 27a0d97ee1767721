/** The kinds, in the order in which objects can be created without a reference ahead. */
export const kindNames = [
  'Scope',
  'RoleBinding',
  'Fleet',
  'Node',
  'Certificate',
  'BackendPool',
  'VirtualService',
  'Route',
] as const;

export type Kind = (typeof kindNames)[number];

/** The scope of an object that names none. It always exists. */
export const defaultScope = 'default';

/** What a kind is called and where its names are unique. */
export interface KindNames {
  /** In URLs: `virtual-services`. */
  readonly plural: string;
  /** For the command line: `vs`. */
  readonly shortNames: readonly string[];
  /** A global kind has no scope. */
  readonly global: boolean;
}

/**
 * The names of every kind. They stand apart from the schemas because a client that only asks and shows needs nothing
 * else, and loading the schemas takes longer than the rest of such a command.
 */
export const namesOfKinds: { readonly [K in Kind]: KindNames } = {
  Scope: { plural: 'scopes', shortNames: [], global: true },
  RoleBinding: { plural: 'role-bindings', shortNames: ['rb'], global: true },
  Fleet: { plural: 'fleets', shortNames: [], global: true },
  Node: { plural: 'nodes', shortNames: ['no'], global: true },
  Certificate: { plural: 'certificates', shortNames: ['cert'], global: false },
  BackendPool: { plural: 'backend-pools', shortNames: ['pool'], global: false },
  VirtualService: { plural: 'virtual-services', shortNames: ['vs'], global: false },
  Route: { plural: 'routes', shortNames: [], global: false },
};
