/** A raw patch that makes of some values, which pass our checks, what Envoy refuses. */
import { create } from '@bufbuild/protobuf';
import type { Cluster } from '../../src/gen/envoy/config/cluster/v3/cluster_pb.js';
import { DataSourceSchema } from '../../src/gen/envoy/config/core/v3/base_pb.js';
import type { RouteConfiguration } from '../../src/gen/envoy/config/route/v3/route_pb.js';
import type { Secret } from '../../src/gen/envoy/extensions/transport_sockets/tls/v3/secret_pb.js';
import { RegexMatcherSchema } from '../../src/gen/envoy/type/matcher/v3/regex_pb.js';
import type { RawPatch } from '../../src/translate/index.ts';
import { typeUrls } from '../../src/xds/index.ts';

export interface Poison {
  readonly patch: RawPatch;
  /** Chains of certificates, PEM, that are spoilt. */
  readonly chains: Set<string>;
}

/** `connectTimeout` of a pool whose cluster Envoy refuses. */
export const poisonedTimeout = '4321ms';

/** Path prefix of a rule that Envoy refuses. */
export const poisonedPath = '/poison';

/** Header of a pool's `hash`, with which Envoy refuses the rules that forward to it. */
export const poisonedHeader = 'x-poison';

export function createPoison(): Poison {
  const chains = new Set<string>();
  return {
    chains,
    patch(type, _name, message) {
      if (type === typeUrls.cluster) {
        const { connectTimeout } = message as unknown as Cluster;
        if (connectTimeout?.nanos === 321_000_000) connectTimeout.seconds = -1n;
      } else if (type === typeUrls.route) {
        for (const { routes } of (message as unknown as RouteConfiguration).virtualHosts) {
          for (const { match, action } of routes) {
            for (const { policySpecifier: by } of action.case === 'route' ? action.value.hashPolicy : []) {
              if (by.case === 'header' && by.value.headerName === poisonedHeader) by.value.headerName = '';
            }
            const path = match?.pathSpecifier;
            if (match === undefined || !JSON.stringify(path?.value ?? '').includes(poisonedPath)) continue;
            match.pathSpecifier = { case: 'safeRegex', value: create(RegexMatcherSchema, { regex: '[' }) };
          }
        }
      } else if (type === typeUrls.secret) {
        const { type: content } = message as unknown as Secret;
        if (content.case !== 'tlsCertificate') return;
        const chain = content.value.certificateChain?.specifier;
        if (chain?.case !== 'inlineString' || !chains.has(chain.value)) return;
        const value = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
        content.value.certificateChain = create(DataSourceSchema, { specifier: { case: 'inlineString', value } });
      }
    },
  };
}
