/**
 * The places for policy in every listener, there from its first day, so that attaching a policy later drains nothing.
 * What stands in them arrives by ECDS: for a service without a policy, "all may".
 */
import { create } from '@bufbuild/protobuf';
import type { Any } from '@bufbuild/protobuf/wkt';
import { type TypedExtensionConfig, TypedExtensionConfigSchema } from '../gen/envoy/config/core/v3/extension_pb.js';
import { RBAC_Action } from '../gen/envoy/config/rbac/v3/rbac_pb.js';
import { RBACSchema as HttpRbacSchema } from '../gen/envoy/extensions/filters/http/rbac/v3/rbac_pb.js';
import { RBACSchema as NetworkRbacSchema } from '../gen/envoy/extensions/filters/network/rbac/v3/rbac_pb.js';
import { discoveryTimeoutMs, overAds } from './config-source.ts';
import { pack } from './encode.ts';

/** Content of an HTTP slot that lets everybody in: a filter without rules enforces nothing. */
const httpAllowAll = pack(HttpRbacSchema, create(HttpRbacSchema));
/** Content that lets nobody in: "allow those whom a policy names", and none does. */
const httpDenyAll = pack(HttpRbacSchema, create(HttpRbacSchema, { rules: { action: RBAC_Action.ALLOW } }));

/** The prefix of the network filter's statistics; it must not be empty. */
const networkStatPrefix = 'policy';
const networkAllowAll = pack(NetworkRbacSchema, create(NetworkRbacSchema, { statPrefix: networkStatPrefix }));

/** The HTTP slot's content of a service without a policy. */
export function httpPolicy(name: string): TypedExtensionConfig {
  return create(TypedExtensionConfigSchema, { name, typedConfig: httpAllowAll });
}

/** The same of the TCP slot. */
export function networkPolicy(name: string): TypedExtensionConfig {
  return create(TypedExtensionConfigSchema, { name, typedConfig: networkAllowAll });
}

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
