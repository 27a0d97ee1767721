/**
 * access: who may do what. Identities, what bindings give them, and the one decision that follows.
 *
 * Everything here is a pure definition. Whoever asks is found out by authentication in the shells; what each operation
 * demands is declared where the operation is; both come together in `decide`, and nowhere else. An identity has no
 * rights of its own: all of them stand in RoleBindings, so that they can be read, reviewed and taken back.
 */
export { type Action, describeAction, type Facility, type Family, facilities, familyOf, type Verb } from './action.ts';
export { type Buckets, createBuckets, type Rate } from './bucket.ts';
export { type Decision, decide, decideAnywhere } from './decide.ts';
export { covers, everyScope, fullGrant, type Grant, grantOf, grantsOf } from './grant.ts';
export { givesAll, grantingRefusal, remainingAdmin } from './granting.ts';
export { describeIdentity, type Identity, identityKey, isSubject } from './identity.ts';
export { formatToken, isExpired, parseToken, type TokenParts, type TokenRecord, tokenPrefix } from './token.ts';
