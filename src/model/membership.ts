/** What is told of the membership of nodes: to whoever joins, and to operators. */

/** What a node gets when it joins or renews. PEM; times are RFC 3339. */
export interface MembershipGrant {
  readonly node: string;
  readonly fleet: string;
  /** Of the Node object. */
  readonly uid: string;
  readonly trustDomain: string;
  readonly certificate: string;
  /** Whose signatures on certificates of controllers count. */
  readonly ca: string;
  readonly issuedAt: string;
  readonly notAfter: string;
  /** Of the commit: a controller that has reached it knows the node. */
  readonly revision: number;
}

/** A join token without its secret. */
export interface JoinTokenInfo {
  readonly id: string;
  readonly node: string;
  readonly fleet: string;
  readonly expires: string;
}

/** How nodes become members, and stay it. Refusals are thrown as `FairwayError`. */
export interface Enrolment {
  /** Makes a token for one node, good once. `token` is told here and nowhere else. */
  createToken(wanted: {
    readonly node: string;
    readonly fleet: string;
    readonly ttlMs: number;
  }): Promise<JoinTokenInfo & { readonly token: string }>;
  /** Those that can still be used, by their ids. */
  tokens(): Promise<readonly JoinTokenInfo[]>;
  /** False: there is no such token. */
  revokeToken(id: string): Promise<boolean>;
  /**
   * Makes the owner of a token a member. Whoever has joined may ask again with the same key while the token lasts, for
   * the answer may have been lost. `node` and `fleet` are what it thinks that it is. Throws `Unauthenticated`
   * (no such token, used, expired), `Forbidden` (for another node) or `InvalidObject` (the request).
   */
  join(asked: {
    readonly token: string;
    readonly request: string;
    readonly node?: string | undefined;
    readonly fleet?: string | undefined;
  }): Promise<MembershipGrant>;
  /**
   * The next certificate for whoever proves to have the present one. Throws `Unauthenticated` (it is not ours, expired,
   * or not theirs), `Forbidden` (the node is no longer a member) or `InvalidObject` (the request).
   */
  renew(asked: {
    readonly certificate: string;
    readonly request: string;
    readonly proof: string;
  }): Promise<MembershipGrant>;
}
