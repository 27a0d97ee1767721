/**
 * pki: who nodes and controllers are to each other. Mutual TLS between them needs certificates; they come from an
 * authority of the installation, or from outside by files. What the authority signs with is a root of its own, which lives
 * in the store, or a CA that a company's root has signed, which each controller has in files.
 *
 * One authority for an installation, however many controllers it has: each of them signs with it, and what they decide
 * about it they decide by compare-and-set. Certificates are short-lived and renewed by themselves, so that there is
 * nothing to revoke but a membership: a node whose Node object is gone is shut out at once, by its uid in the certificate,
 * and gets no next one.
 *
 * The private key of a node never leaves it. Those of own roots are in the store under a prefix whose values are sealed;
 * that of a CA in files stays there, and in the memory of controllers.
 *
 * Among themselves controllers need none of this: each has a key for its run, whose public half it tells the others in the
 * store that they share (controller-key.ts).
 */
export { type Authority, type AuthorityOptions, type AuthorityState, openAuthority } from './authority.ts';
export type { ControllerSubject } from './certificates.ts';
export { type ControllerCredentials, createControllerCredentials } from './controller-credentials.ts';
export { type ControllerKey, createControllerKey, isSignedBy } from './controller-key.ts';
export { type FileCredentials, openFileCredentials } from './file-credentials.ts';
export { identityOf, type NodeIdentity } from './identity.ts';
export { createMembers, type Members } from './members.ts';
export { createIdentify, type Identify, type Refusal } from './peers.ts';
export { createRotationKeeper, type RotationKeeper } from './rotation.ts';
export { openSignerFiles, type SignerFiles } from './signer-files.ts';
