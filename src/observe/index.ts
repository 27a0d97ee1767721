/**
 * observe: what is seen, as few records as possible. Each controller writes about the proxies attached to it: nodes
 * that came and went, resources that were refused, how far all are. One edit at a thousand proxies must not become a thousand
 * writes, so repeats are counted and what changes back within the hold-off is not written.
 */
export { createDeliveryObserver, type DeliveryObserver, type DeliveryReading } from './delivery.ts';
export { createEventObserver, type EventObserver } from './events.ts';
export { nodeName } from './node-name.ts';
export { createNodeObserver, type NodeObserver } from './nodes.ts';
export { createPresence, type Presence, type PresenceOptions } from './presence.ts';
export { type Acceptance, createRefusalObserver, type Refusal, type RefusalObserver } from './refusals.ts';
