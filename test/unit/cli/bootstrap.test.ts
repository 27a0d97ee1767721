import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { createBootstrap, isNodeName, nodeNameOf } from '../../../src/cli/bootstrap.ts';
import { envoyArguments } from '../../../src/cli/commands/envoy.ts';
import { parseHostPort } from '../../../src/cli/host-port.ts';
import { maxRegexProgram } from '../../../src/model/regex.ts';

const template = parse(readFileSync(new URL('../../../envoy/bootstrap/proxy.yaml', import.meta.url), 'utf8'));

const options = {
  node: 'edge-1',
  fleet: 'edge',
  controllers: [{ host: '127.0.0.1', port: 7601 }],
  admin: { host: '127.0.0.1', port: 9901 },
  maxConnections: 1234,
};
// biome-ignore lint/suspicious/noExplicitAny: a tree of YAML
const made = (more: object = {}): any => parse(createBootstrap({ ...options, ...more }));

describe('the template', () => {
  it('allows the regular expressions that the model allows', () => {
    expect(template.layered_runtime.layers[0].static_layer.re2.max_program_size.error_level).toBe(maxRegexProgram);
  });

  it('asks by delta ADS, with the node once, and waits for the first answer', () => {
    const { ads_config, cds_config, lds_config } = template.dynamic_resources;
    expect(ads_config).toMatchObject({ api_type: 'DELTA_GRPC', set_node_on_first_message_only: true });
    for (const source of [cds_config, lds_config]) {
      expect(source).toEqual({ ads: {}, resource_api_version: 'V3', initial_fetch_timeout: '0s' });
    }
    expect(ads_config.grpc_services[0].envoy_grpc.cluster_name).toBe(template.static_resources.clusters[0].name);
  });

  it('notices a controller that is gone', () => {
    const [cluster] = template.static_resources.clusters;
    const [http] = Object.values(cluster.typed_extension_protocol_options) as [
      { explicit_http_config: { http2_protocol_options: { connection_keepalive: unknown } } },
    ];
    expect(http.explicit_http_config.http2_protocol_options.connection_keepalive).toEqual({
      interval: '10s',
      timeout: '5s',
    });
    expect(cluster.upstream_connection_options.tcp_keepalive).toBeDefined();
  });

  const patterns = template.stats_config.stats_matcher.inclusion_list.patterns as readonly Record<string, unknown>[];
  const counted = (name: string) =>
    patterns.some((pattern) => {
      if (typeof pattern['prefix'] === 'string') return name.startsWith(pattern['prefix']);
      if (typeof pattern['contains'] === 'string') return name.includes(pattern['contains']);
      return new RegExp(`^(?:${(pattern['safe_regex'] as { regex: string }).regex})$`).test(name);
    });

  it.each([
    'cluster_manager.cds.update_rejected',
    'cluster_manager.warming_clusters',
    'listener_manager.lds.update_success',
    'listener_manager.listener_in_place_updated',
    'listener_manager.total_filter_chains_draining',
    'control_plane.connected_state',
    'cluster.fairway-controllers.upstream_cx_rx_bytes_total',
    'cluster.default/web.upstream_rq_2xx',
    'cluster.default/web.upstream_rq_total',
    'cluster.default/web.upstream_cx_active',
    'cluster.default/web.membership_healthy',
    'cluster.default/web.update_success',
    'cluster.default/web.health_check.failure',
    'cluster.default/web.warming_state',
    'http.default/shop.downstream_rq_total',
    'http.default/shop.rds.default/shop:80.update_success',
    'http.default/shop.rbac.policy.denied',
    'tcp.default/db.downstream_cx_total',
    'listener.0.0.0.0_443.ssl.handshake',
    'listener.0.0.0.0_443.server_ssl_socket_factory.ssl_context_update_by_sds',
    'listener.0.0.0.0_80.no_filter_chain_match',
    'sds.default/shop-tls.update_success',
    'extension_config_discovery.http_filter.policy.config_reload',
    'server.live',
  ])('counts %s', (name) => {
    expect(counted(name)).toBe(true);
  });

  it.each([
    'cluster.default/web.http2.goaway_sent',
    'http.default/shop.tracing.random_sampling',
    'runtime.load_success',
  ])('does not count %s', (name) => {
    expect(counted(name)).toBe(false);
  });
});

describe('createBootstrap', () => {
  it('fills in who it is for', () => {
    expect(made()).toMatchObject({
      node: { id: 'edge-1', cluster: 'edge' },
      admin: { address: { socket_address: { address: '127.0.0.1', port_value: 9901 } } },
      overload_manager: { resource_monitors: [{ typed_config: { max_active_downstream_connections: 1234 } }] },
    });
  });

  it('leaves everything else as the template has it', () => {
    const { node: _n, admin: _a, static_resources: _s, overload_manager: _o, ...rest } = made();
    for (const [name, value] of Object.entries(rest)) expect(value).toEqual(template[name]);
  });

  it('puts all controllers into one priority', () => {
    const controllers = [
      { host: '::1', port: 7601 },
      { host: '10.0.0.2', port: 17601 },
    ];
    const [cluster] = made({ controllers }).static_resources.clusters;
    expect(cluster.type).toBe('STATIC');
    expect(cluster.load_assignment.endpoints).toEqual([
      {
        lb_endpoints: controllers.map(({ host, port }) => ({
          endpoint: { address: { socket_address: { address: host, port_value: port } } },
        })),
      },
    ]);
  });

  it('resolves names', () => {
    const [cluster] = made({ controllers: [{ host: 'c1.example', port: 7601 }] }).static_resources.clusters;
    expect(cluster.type).toBe('STRICT_DNS');
  });

  it('quotes what YAML 1.1 would take for a truth value', () => {
    expect(createBootstrap({ ...options, node: 'no' })).toContain('id: "no"');
  });
});

describe('nodeNameOf', () => {
  it.each([
    ['web01', 'web01'],
    ['Web01.Example.COM', 'web01-example-com'],
    ['_odd--host_', 'odd-host'],
    ['a'.repeat(80), 'a'.repeat(63)],
    [`${'a'.repeat(62)}.b`, 'a'.repeat(62)],
    ['...', undefined],
  ])('%s gives %s', (hostname, want) => {
    expect(nodeNameOf(hostname)).toBe(want);
    if (want !== undefined) expect(isNodeName(want)).toBe(true);
  });
});

describe('envoyArguments', () => {
  it('sets what the fleet wants', () => {
    expect(envoyArguments('/b.yaml', 45_000, [])).toEqual([
      ...['-c', '/b.yaml', '--drain-time-s', '45', '--component-log-level', 'misc:error', '--disable-hot-restart'],
    ]);
  });
  it('gives way to the caller, since Envoy takes no argument twice', () => {
    const extra = ['--drain-time-s=5', '--component-log-level', 'upstream:debug', '--base-id', '3'];
    expect(envoyArguments('/b.yaml', 45_000, extra)).toEqual(['-c', '/b.yaml', ...extra]);
  });
  it('never asks for no time at all', () => {
    expect(envoyArguments('/b.yaml', 0, [])).toContain('1');
  });
});

describe('parseHostPort', () => {
  const cases: readonly [text: string, defaultPort: number | undefined, want: object | undefined][] = [
    ['a.example:80', undefined, { host: 'a.example', port: 80 }],
    ['[::1]:80', undefined, { host: '::1', port: 80 }],
    ['::1', 7601, { host: '::1', port: 7601 }],
    ['a.example', 7601, { host: 'a.example', port: 7601 }],
    ['[::1]', 7601, { host: '::1', port: 7601 }],
    ['127.0.0.1:0', undefined, { host: '127.0.0.1', port: 0 }],
    ['a.example', undefined, undefined],
    ['a:99999', undefined, undefined],
    ['[nonsense]:80', undefined, undefined],
    ['http://a:80', undefined, undefined],
    ['', 7601, undefined],
  ];
  it.each(cases)('%s', (text, defaultPort, want) => {
    const read = () => parseHostPort(text, 'address', defaultPort);
    if (want === undefined) expect(read).toThrow(/is no address/);
    else expect(read()).toEqual(want);
  });
});
