/**
 * How a node becomes a member and stays one. Both ways end in one commit: the certificate is recorded while the authority
 * that signed it stands, and the Node object that it is for is there.
 *
 *   token ──join──▶ Node object, certificate ──renew, by the key of the present one──▶ certificate ──▶ …
 */
import { createHash, type KeyObject, timingSafeEqual, type X509Certificate } from 'node:crypto';
import { isRenewalProof } from '../lib/certificate-request.ts';
import { FairwayError } from '../lib/errors.ts';
import { createJoinToken, formatJoinToken, hashOfSecret, parseJoinToken } from '../lib/join-token.ts';
import {
  decodeStored,
  type Enrolment,
  encodeStored,
  type JoinTokenInfo,
  type MembershipGrant,
  newNode,
  specKey,
  storeKey,
} from '../model/index.ts';
import type { IssuedRecord } from '../plan/index.ts';
import type { Entry, Store, Transaction } from '../store/store.ts';
import type { Logger } from '../telemetry/log.ts';
import { type Authority, type AuthorityState, nodeKey } from './authority.ts';
import { issueToNode } from './certificates.ts';
import { leadsTo, readChain } from './chain.ts';
import { identityOf, type NodeIdentity } from './identity.ts';
import { readRequest } from './request.ts';

export interface Members extends Enrolment {
  /** Removes what has expired: tokens, and records of certificates. It writes to `store`, which is that of a leader. */
  sweep(store: Store): Promise<void>;
}

export interface MembersOptions {
  readonly store: Store;
  readonly authority: Authority;
  /** How long a certificate of a node is good. */
  readonly lifeMs: number;
  readonly newId: () => string;
  readonly now: () => number;
  readonly log: Logger;
}

/** As stored. */
interface TokenRecord extends JoinTokenInfo {
  readonly hash: string;
  /** It was used: by whoever has this key, for the Node with this uid. */
  readonly used?: { readonly key: string; readonly uid: string };
}

/** Somebody else may write the Node, or rotate, at the same time. */
const attempts = 5;

/** What refuses a token says the same whatever is wrong with it, so that nobody learns which ids there are. */
const badToken = () => new FairwayError('Unauthenticated', 'joining: the token is not valid, was used or has expired');

export function createMembers({ store, authority, lifeMs, newId, now, log }: MembersOptions): Members {
  async function tokenRecords(): Promise<{ readonly entry: Entry; readonly record: TokenRecord }[]> {
    const { entries } = await store.list(storeKey('joinToken', ''));
    return entries.map((entry) => ({ entry, record: JSON.parse(entry.value) as TokenRecord }));
  }

  function isExpired({ expires }: JoinTokenInfo): boolean {
    return Date.parse(expires) <= now();
  }

  /** The record of a token that can be used now. */
  async function findToken(text: string): Promise<{ readonly entry: Entry; readonly record: TokenRecord }> {
    const token = parseJoinToken(text);
    const entry = token === undefined ? undefined : await store.get(storeKey('joinToken', token.id));
    if (token === undefined || entry === undefined) throw badToken();
    const record = JSON.parse(entry.value) as TokenRecord;
    if (!isSame(record.hash, hashOfSecret(token)) || isExpired(record)) throw badToken();
    return { entry, record };
  }

  /** The Node object of a name as it stands, or as it is to be made. */
  async function nodeFor(name: string) {
    const key = specKey(nodeKey(name));
    const entry = await store.get(key);
    if (entry !== undefined) {
      const { uid } = decodeStored(entry).metadata;
      return { uid, check: { key, modRevision: entry.modRevision }, puts: [] };
    }
    const made = newNode(name, { uid: newId(), createdAt: new Date(now()).toISOString() });
    const puts = [{ key, value: encodeStored(made) }];
    return { uid: made.metadata.uid, check: { key, modRevision: 0 }, puts };
  }

  /** Signs, and records it together with `changes`; undefined when something changed meanwhile. */
  async function issue(
    state: AuthorityState,
    subject: { readonly node: string; readonly fleet: string; readonly uid: string },
    key: KeyObject,
    changes: Pick<Transaction, 'checks' | 'puts'>,
  ): Promise<MembershipGrant | undefined> {
    const { trustDomain } = state.record;
    const at = now();
    const issued = await issueToNode(state.signing, key, { ...subject, trustDomain }, { now: at, lifeMs });
    const record: IssuedRecord = {
      uid: subject.uid,
      fleet: subject.fleet,
      root: state.signing.id,
      serial: issued.serial,
      issuedAt: new Date(at).toISOString(),
      notAfter: new Date(issued.notAfter).toISOString(),
    };
    const outcome = await store.commit({
      id: newId(),
      checks: [state.check, ...changes.checks],
      puts: [...changes.puts, { key: storeKey('certificate', subject.node), value: JSON.stringify(record) }],
      deletes: [],
    });
    if (!outcome.committed) return undefined;
    const { issuedAt, notAfter } = record;
    const { certificate } = issued;
    return { ...subject, trustDomain, certificate, ca: state.bundle, issuedAt, notAfter, revision: outcome.revision };
  }

  async function repeat(what: string, attempt: (state: AuthorityState) => Promise<MembershipGrant | undefined>) {
    for (let count = 0; count < attempts; count += 1) {
      const done = await attempt(count === 0 ? authority.state : await authority.refresh());
      if (done !== undefined) return done;
    }
    throw new FairwayError('Conflict', `${what}: others kept changing what it needs`);
  }

  /** Whose certificate it is, if it is one of ours and good now. */
  function present(text: string): { readonly certificate: X509Certificate; readonly identity: NodeIdentity } {
    const refuse = (why: string) => new FairwayError('Unauthenticated', `renewing: the present certificate ${why}`);
    const chain = readChain(text);
    if (chain === undefined) throw refuse('cannot be read');
    const [certificate] = chain;
    const { record, roots } = authority.state;
    if (!leadsTo(roots, chain, now())) throw refuse('is not signed by this authority');
    if (certificate.validToDate.getTime() <= now()) throw refuse('has expired: the node has to join again');
    const identity = identityOf(certificate);
    if (!identity.ok) throw refuse(identity.error);
    if (identity.value.trustDomain !== record.trustDomain) throw refuse('is of another trust domain');
    return { certificate, identity: identity.value };
  }

  return {
    async createToken({ node, fleet, ttlMs }) {
      const token = createJoinToken((await authority.refresh()).pin);
      const info = { id: token.id, node, fleet, expires: new Date(now() + ttlMs).toISOString() };
      const key = storeKey('joinToken', token.id);
      const value = JSON.stringify({ ...info, hash: hashOfSecret(token) } satisfies TokenRecord);
      await store.commit({ id: newId(), checks: [{ key, modRevision: 0 }], puts: [{ key, value }], deletes: [] });
      log.info({ event: 'join_token_created', ...info });
      return { ...info, token: formatJoinToken(token) };
    },

    async tokens() {
      const records = (await tokenRecords()).map(({ record }) => record);
      return records
        .filter((record) => record.used === undefined && !isExpired(record))
        .map(({ id, node, fleet, expires }) => ({ id, node, fleet, expires }));
    },

    async revokeToken(id) {
      const key = storeKey('joinToken', id);
      const checks = [{ key, modRevision: 'exists' as const }];
      return (await store.commit({ id: newId(), checks, puts: [], deletes: [key] })).committed;
    },

    async join({ token, request, node, fleet }) {
      return repeat('joining', async (state) => {
        const { entry, record } = await findToken(token);
        if ((node ?? record.node) !== record.node || (fleet ?? record.fleet) !== record.fleet) {
          const message = `joining: the token is for the node ${record.node} of the fleet ${record.fleet}`;
          throw new FairwayError('Forbidden', message);
        }
        const key = await keyIn(request);
        const member = await nodeFor(record.node);
        const used = { key: fingerprintOf(key), uid: member.uid };
        // A Node that was deleted since does not come back by a token that made it.
        if (record.used !== undefined && (record.used.key !== used.key || record.used.uid !== used.uid))
          throw badToken();
        const joined = await issue(state, { node: record.node, fleet: record.fleet, uid: member.uid }, key, {
          checks: [{ key: entry.key, modRevision: entry.modRevision }, member.check],
          puts: [...member.puts, { key: entry.key, value: JSON.stringify({ ...record, used } satisfies TokenRecord) }],
        });
        if (joined !== undefined) log.info({ event: 'node_joined', node: joined.node, fleet: joined.fleet });
        return joined;
      });
    },

    async renew({ certificate: text, request, proof }) {
      return repeat('renewing', async (state) => {
        const { certificate, identity } = present(text);
        if (!isRenewalProof(certificate.publicKey, request, proof)) {
          throw new FairwayError(
            'Unauthenticated',
            'renewing: it is not proven that the present certificate is theirs',
          );
        }
        const { node, fleet, uid } = identity;
        const key = specKey(nodeKey(node));
        const entry = await store.get(key);
        if (entry === undefined || uid === undefined || decodeStored(entry).metadata.uid !== uid) {
          throw new FairwayError('Forbidden', `renewing: the node ${node} of this certificate was deleted`);
        }
        const last = await store.get(storeKey('certificate', node));
        const joined = last === undefined ? undefined : (JSON.parse(last.value) as IssuedRecord);
        if (joined?.uid === uid && joined.fleet !== fleet) {
          throw new FairwayError('Forbidden', `renewing: the node ${node} has joined the fleet ${joined.fleet} since`);
        }
        const renewed = await issue(state, { node, fleet, uid }, await keyIn(request), {
          checks: [{ key, modRevision: entry.modRevision }],
          puts: [],
        });
        if (renewed !== undefined) log.info({ event: 'certificate_renewed', node, fleet, notAfter: renewed.notAfter });
        return renewed;
      });
    },

    async sweep(fenced) {
      const dead = (await tokenRecords()).filter(({ record }) => isExpired(record)).map(({ entry }) => entry);
      const { entries } = await store.list(storeKey('certificate', ''));
      dead.push(...entries.filter(({ value }) => Date.parse((JSON.parse(value) as IssuedRecord).notAfter) <= now()));
      for (const { key, modRevision } of dead) {
        await fenced.commit({ id: newId(), checks: [{ key, modRevision }], puts: [], deletes: [key] });
      }
    },
  };
}

/** The key that a request is for, or `InvalidObject`. */
async function keyIn(request: string): Promise<KeyObject> {
  const key = await readRequest(request);
  if (key.ok) return key.value;
  throw new FairwayError('InvalidObject', `signing: the request for a certificate ${key.error}`, {
    errors: [{ pointer: '/request', message: key.error }],
  });
}

function fingerprintOf(key: KeyObject): string {
  return createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('base64url');
}

function isSame(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
