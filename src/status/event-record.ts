import type { ObjectKey } from '../model/index.ts';

/** Something that happened, for people who ask what was going on. Repeats are counted. */
export interface EventRecord {
  /** What it happened to: an object, or the controller `Controller/NAME`. */
  readonly object: ObjectKey;
  readonly type: 'Normal' | 'Warning';
  /** CamelCase, one of {@link eventReasons}. */
  readonly reason: EventReason;
  readonly message: string;
  readonly count: number;
  /** RFC 3339. */
  readonly first: string;
  readonly last: string;
  /** Name of the controller that saw it. */
  readonly controller: string;
}

/** What can happen, and whether somebody should look at it. */
export const eventReasons = {
  NodeRegistered: 'Normal',
  ProxyConnected: 'Normal',
  ProxyDisconnected: 'Warning',
  ProxyStalled: 'Warning',
  ConfigurationRejected: 'Warning',
  ConfigurationWithheld: 'Warning',
  ObjectConvicted: 'Warning',
  AdmissionRefused: 'Warning',
  SecretRefused: 'Warning',
  BecameLeader: 'Normal',
  LostLeadership: 'Warning',
  AuthorityExpiring: 'Warning',
  Restored: 'Warning',
  EventsDropped: 'Warning',
} as const;

export type EventReason = keyof typeof eventReasons;

/** What is told of something that happens now. */
export interface Happening {
  readonly object: ObjectKey;
  readonly reason: EventReason;
  readonly message: string;
}

export const maxEventMessage = 1_000;

/** Events that are one when they come again: of one object, for one reason, in the same words. */
export function likenessOf({ object, reason, message }: Happening): string {
  return [object, reason, message].join('\n');
}
