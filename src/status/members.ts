import { type BackendPoolSpec, effectiveMember, memberKey } from '../model/index.ts';

/** A member that has left its pool. */
export interface DrainingMember {
  readonly address: string;
  readonly port: number;
  /** RFC 3339: when it is taken away from the proxies; undefined while that is being decided. */
  readonly until: string | undefined;
}

/** A member as the status of its pool shows it. */
export interface MemberStatus {
  readonly address: string;
  readonly port: number;
  readonly state: 'Draining' | 'Disabled' | 'Unknown';
  /** Of a member that has left: when it is taken away. */
  readonly until?: string;
}

/** The members of a pool in the order written, then those that have left it and still drain. */
export function memberStatus(spec: BackendPoolSpec, draining: readonly DrainingMember[]): readonly MemberStatus[] {
  const leaving = new Map(draining.map((member) => [memberKey(member), member]));
  const present = (spec.members ?? []).map((written): MemberStatus => {
    const { address, port, enabled, drain } = effectiveMember(written);
    const key = memberKey(written);
    const left = leaving.get(key);
    leaving.delete(key);
    if (left !== undefined) return drainingStatus(left);
    if (!enabled) return { address, port, state: 'Disabled' };
    return { address, port, state: drain ? 'Draining' : 'Unknown' };
  });
  return [...present, ...[...leaving.values()].map(drainingStatus)];
}

function drainingStatus({ address, port, until }: DrainingMember): MemberStatus {
  return { address, port, state: 'Draining', ...(until === undefined ? {} : { until }) };
}
