/**
 * The places for policy in every listener, there from its first day, so that attaching a policy later drains nothing.
 * What stands in them arrives by ECDS: for a service without a policy, "all may".
 */
import { create } from '@bufbuild/protobuf';
import type { Any } from '@bufbuild/protobuf/wkt';
import { TypedExtensionConfigSchema } from '../gen/envoy/config/core/v3/extension_pb.js';
import { RBAC_Action } from '../gen/envoy/config/rbac/v3/rbac_pb.js';
import { RBACSchema as HttpRbacSchema } from '../gen/envoy/extensions/filters/http/rbac/v3/rbac_pb.js';
import { RBACSchema as NetworkRbacSchema } from '../gen/envoy/extensions/filters/network/rbac/v3/rbac_pb.js';
import { discoveryTimeoutMs, overAds } from './config-source.ts';
import { pack, type Write } from './encode.ts';
import { shaped } from './shaped.ts';

/** Content of an HTTP slot that lets everybody in: a filter without rules enforces nothing. */
const httpAllowAll = pack(HttpRbacSchema, create(HttpRbacSchema));
/** Content that lets nobody in: "allow those whom a policy names", and none does. */
const httpDenyAll = pack(HttpRbacSchema, create(HttpRbacSchema, { rules: { action: RBAC_Action.ALLOW } }));

/** The prefix of the network filter's statistics; it must not be empty. */
const networkStatPrefix = 'policy';
const networkAllowAll = pack(NetworkRbacSchema, create(NetworkRbacSchema, { statPrefix: networkStatPrefix }));

/** What a slot is filled with in a service without a policy. */
export function openPolicy(sort: 'http' | 'tcp', name: string): Write {
  return (to) => writeOpenPolicy(to, sort, { name });
}

const writeOpenPolicy = shaped(TypedExtensionConfigSchema, (sort: 'http' | 'tcp', { name }: { name: string }) =>
  create(TypedExtensionConfigSchema, { name, typedConfig: sort === 'http' ? httpAllowAll : networkAllowAll }),
);

/** The HTTP filter that is filled by ECDS. Until its content has arrived, `failMode` holds. */
export function httpPolicySlot(name: string, failMode: 'allow' | 'deny') {
  return slot(name, failMode === 'deny' ? httpDenyAll : httpAllowAll);
}

/**
 * The network filter that is filled by ECDS. It lets all pass while it waits, whatever the service's mode: enforcement
 * for TCP is the choice of the filter chain, before a byte goes to a backend, and this carries rules that only watch.
 */
export function networkPolicySlot(name: string) {
  return slot(name, networkAllowAll);
}

function slot(name: string, defaultConfig: Any) {
  return {
    name,
    configType: {
      case: 'configDiscovery' as const,
      value: {
        configSource: overAds(discoveryTimeoutMs),
        defaultConfig,
        typeUrls: [defaultConfig.typeUrl],
        // Otherwise a listener whose slot is answered with "no such thing" warms for ever.
        applyDefaultConfigWithoutWarming: true,
      },
    },
  };
}
