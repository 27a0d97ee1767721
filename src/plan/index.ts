/**
 * plan: decisions with a choice in them, each a pure function of the world, of what was decided before, and of the
 * time, which is an argument. The leader stores what comes out; the graph reads it as one more input, so that every
 * controller and every later start goes by the same decision.
 */
export {
  type AuthorityRecord,
  type IssuedRecord,
  planRotation,
  type RootRecord,
  type RotationInput,
  type RotationStep,
  startRotation,
  turnTo,
} from './authority.ts';
export {
  type DrainRecord,
  drainAfterEdit,
  drainAfterRecord,
  drainDeadline,
  sameDrain,
  settleDrain,
} from './drains.ts';
export { planRespread, type SpreadMember } from './respread.ts';
