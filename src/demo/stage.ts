import type { Backend } from './backends.ts';
import type { Authority, IssuedCertificate } from './certificate.ts';
import type { Children } from './children.ts';
import type { Report } from './report.ts';
import type { Rest } from './rest.ts';

/** What every step may use. One per demo. */
export interface Walk {
  readonly report: Report;
  readonly children: Children;
  /** Temporary: database, logs, manifests. */
  readonly folder: string;
  /** Aborted when the demo is told to end, or cannot go on; its reason says why. */
  readonly signal: AbortSignal;
  /** Has something closed at the end, last one first. */
  atEnd(close: () => Promise<void> | void): void;
  /** Ends the demo: something it rests on is gone. */
  fail(error: Error): void;
}

/** What runs once all is started. Ports are those of Envoy's listeners on 127.0.0.1. */
export interface Stage {
  readonly rest: Rest;
  readonly xdsAddress: string;
  readonly adminPort: number;
  readonly backends: readonly Backend[];
  /** From ports of the examples to those used here. */
  readonly ports: ReadonlyMap<number, number>;
  readonly web: number;
  readonly secure: number;
  readonly echo: number;
  /** Signs the shop's certificates. */
  readonly authority: Authority;
  /** That the shop shows at first. */
  readonly certificate: IssuedCertificate;
}

/** Names of the examples that the steps go by. */
export const shop = { host: 'shop.example', certificate: 'shop-tls', pool: 'web', next: 'next' } as const;
export const docsHost = 'docs.shop.example';
export const fleet = 'edge';
export const nodeName = 'demo-1';

/** An object of the scope `default`. */
export function target<K extends 'BackendPool' | 'Certificate' | 'VirtualService'>(kind: K, name: string) {
  return { kind, metadata: { name, scope: 'default' } } as const;
}
