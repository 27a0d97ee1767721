/** The kinds, in the order in which objects can be created without a reference ahead. */
export const kindNames = ['Scope', 'Fleet', 'Node', 'Certificate', 'BackendPool', 'VirtualService', 'Route'] as const;

export type Kind = (typeof kindNames)[number];
