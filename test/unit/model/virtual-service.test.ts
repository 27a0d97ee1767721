import { describe, test } from 'vitest';
import { expectFaults, type Malformed } from './samples.ts';

describe('malformed VirtualService', () => {
  const web = '/listeners/0';
  const tcp = '/listeners/2';
  test.each<Malformed>([
    ['no listeners', { '/listeners': undefined }, [['/listeners', /is required/]]],
    ['empty listeners', { '/listeners': [] }, [['/listeners', /at least 1 item$/]]],
    ['listeners as an object', { '/listeners': { web: {} } }, [['/listeners', /must be a list, not an object/]]],
    [
      'a number in quotes',
      { [`${web}/port`]: '443' },
      [[`${web}/port`, /a whole number, not the text "443"; leave the quotes out/]],
    ],
    ['port 0', { [`${web}/port`]: 0 }, [[`${web}/port`, /from 1 to 65535, not 0/]]],
    ['port 70000', { [`${web}/port`]: 70_000 }, [[`${web}/port`, /from 1 to 65535, not 70000/]]],
    ['half a port', { [`${web}/port`]: 80.5 }, [[`${web}/port`, /whole number, not the number 80.5/]]],
    ['a field misspelt', { [`${web}/prot`]: 1 }, [[`${web}/prot`, /did you mean `port`\?/]]],
    [
      'a field that comes later',
      { '/sharingKey': 'a' },
      [['/sharingKey', /is not a field here; the fields are enabled, /]],
    ],
    [
      'a protocol in lower case',
      { [`${web}/protocol`]: 'https' },
      [[`${web}/protocol`, /one of HTTP, HTTPS, TCP.*did you mean `HTTPS`\?/]],
    ],
    [
      'a protocol that comes later',
      { [`${tcp}/protocol`]: 'UDP' },
      [[`${tcp}/protocol`, /must be one of HTTP, HTTPS, TCP/]],
    ],
    [
      'enabled as a text',
      { '/enabled': 'true' },
      [['/enabled', /true or false, not the text "true"; leave the quotes out/]],
    ],
    [
      'an address that is none',
      { '/addresses/0/address': '203.0.113.300' },
      [['/addresses/0/address', /IPv4 or IPv6 address/]],
    ],
    [
      'an address with a prefix',
      { '/addresses/0/address': '203.0.113.0/24' },
      [['/addresses/0/address', /not the range/]],
    ],
    [
      'an address with a zone',
      { '/addresses/0/address': 'fe80::1%eth0' },
      [['/addresses/0/address', /must not have a zone/]],
    ],
    [
      'all addresses',
      { '/addresses/0/address': '0.0.0.0' },
      [['/addresses/0/address', /stands for all; leave the list out/]],
    ],
    ['a group address', { '/addresses/0/address': '224.0.0.1' }, [['/addresses/0/address', /group address/]]],
    [
      'a mapped address',
      { '/addresses/0/address': '::ffff:1.2.3.4' },
      [['/addresses/0/address', /as the IPv4 address/]],
    ],
    [
      'an address of a pool',
      { '/addresses/0': { pool: 'public' } },
      [
        ['/addresses/0/pool', /is not a field here/],
        ['/addresses/0/address', /is required/],
      ],
    ],
    [
      'an address twice in two forms',
      { '/addresses/0/address': '2001:DB8:0::10' },
      [['/addresses/1/address', /`2001:db8::10` is already used by \/spec\/addresses\/0/]],
    ],
    [
      'two listeners of a name',
      { '/listeners/1/name': 'web' },
      [['/listeners/1/name', /already used by \/spec\/listeners\/0/]],
    ],
    [
      'HTTPS without certificates',
      { [`${web}/certificates`]: undefined },
      [[`${web}/certificates`, /is required with protocol HTTPS/]],
    ],
    ['no certificates in the list', { [`${web}/certificates`]: [] }, [[`${web}/certificates`, /at least 1/]]],
    ['a certificate twice', { [`${web}/certificates`]: ['a', 'a'] }, [[`${web}/certificates/1`, /the same as/]]],
    [
      'a reference with two slashes',
      { [`${web}/certificates/0`]: 'a/b/c' },
      [[`${web}/certificates/0`, /scope\/name, not "a\/b\/c"/]],
    ],
    [
      'HTTP with certificates',
      { '/listeners/1/certificates': ['a'] },
      [['/listeners/1/certificates', /not possible with protocol HTTP; use HTTPS/]],
    ],
    [
      'HTTP with a pool alone',
      { '/listeners/1/defaultAction': { pool: 'db' } },
      [['/listeners/1/defaultAction/pool', /write `forward: \[\{pool: db\}\]`/]],
    ],
    [
      'TCP without an action',
      { [`${tcp}/defaultAction`]: undefined },
      [[`${tcp}/defaultAction`, /is required with protocol TCP/]],
    ],
    [
      'TCP with an HTTP action',
      { [`${tcp}/defaultAction`]: { forward: [{ pool: 'db' }] } },
      [[`${tcp}/defaultAction/forward`, /give `pool` alone/]],
    ],
    [
      'TCP with HTTP settings',
      { [`${tcp}/defaultAction/timeout`]: '5s' },
      [[`${tcp}/defaultAction/timeout`, /give `pool` alone/]],
    ],
    [
      'TCP with what only HTTP has',
      { [`${tcp}/hosts`]: ['a.example'], [`${tcp}/certificates`]: ['a'], [`${tcp}/allowedRoutes`]: {} },
      [
        [`${tcp}/certificates`, /not possible with protocol TCP/],
        [`${tcp}/hosts`, /not possible with protocol TCP/],
        [`${tcp}/allowedRoutes`, /not possible with protocol TCP/],
      ],
    ],
    [
      'two actions',
      { [`${web}/defaultAction/pool`]: 'db' },
      [[`${web}/defaultAction`, /exactly one of `forward`, `redirect`, `respond`, `pool`, and has `forward`, `pool`/]],
    ],
    [
      'no action',
      { [`${web}/defaultAction`]: { timeout: '5s' } },
      [[`${web}/defaultAction`, /exactly one of .*, and has none/]],
    ],
    ['a host in Unicode', { [`${web}/hosts/0`]: 'bücher.example' }, [[`${web}/hosts/0`, /ASCII form \(IDNA/]]],
    [
      'a host with a dot at the end',
      { [`${web}/hosts/0`]: 'shop.example.' },
      [[`${web}/hosts/0`, /must not end with a dot/]],
    ],
    ['a host with a port', { [`${web}/hosts/0`]: 'shop.example:443' }, [[`${web}/hosts/0`, /must not have a port/]]],
    ['a host with a star within', { [`${web}/hosts/0`]: 'a.*.example' }, [[`${web}/hosts/0`, /whole first label/]]],
    ['a star as host', { [`${web}/hosts/0`]: '*' }, [[`${web}/hosts/0`, /to serve all hosts leave the list out/]]],
    [
      'a host that is a URL',
      { [`${web}/hosts/0`]: 'https://shop.example' },
      [[`${web}/hosts/0`, /must be a DNS name/]],
    ],
    ['an empty host', { [`${web}/hosts/0`]: '' }, [[`${web}/hosts/0`, /must be a DNS name/]]],
    ['a host twice', { [`${web}/hosts/1`]: 'SHOP.example' }, [[`${web}/hosts/1`, /`shop.example` is already used/]]],
    [
      'a duration as a number',
      { [`${web}/idleTimeout`]: 60 },
      [[`${web}/idleTimeout`, /duration with its unit.* not the number 60/]],
    ],
    [
      'a duration without unit',
      { [`${web}/idleTimeout`]: '60' },
      [[`${web}/idleTimeout`, /the unit is missing, as in 60s/]],
    ],
    [
      'a duration with a fraction',
      { [`${web}/idleTimeout`]: '1.5s' },
      [[`${web}/idleTimeout`, /such as 250ms, 5s or 1m30s, not "1.5s"/]],
    ],
    ['a negative duration', { '/drainTimeout': '-5s' }, [['/drainTimeout', /must be a duration/]]],
    ['a duration out of range', { '/drainTimeout': '2h' }, [['/drainTimeout', /from 0s to 1h, not 2h/]]],
    [
      'a port shared between protocols',
      { '/listeners/1/port': 443 },
      [['/listeners/1/protocol', /port 443 is shared with \/spec\/listeners\/0, so it must be HTTPS too/]],
    ],
    [
      'a port shared by TCP',
      { '/listeners/1': { name: 'db2', port: 5432, protocol: 'TCP', defaultAction: { pool: 'db' } } },
      [[`${tcp}/port`, /which TCP does not allow/]],
    ],
    [
      'a port shared, hosts overlap',
      { '/listeners/1': { name: 'b', port: 443, protocol: 'HTTPS', certificates: ['a'], hosts: ['A.Shop.Example'] } },
      [['/listeners/1/hosts', /must be disjoint, and `A.Shop.Example` overlaps with `\*.shop.example` there/]],
    ],
    [
      'a port shared with all hosts',
      { '/listeners/1': { name: 'b', port: 443, protocol: 'HTTPS', certificates: ['a'] } },
      [['/listeners/1/hosts', /all hosts overlaps with `shop.example` there/]],
    ],
    ['a fail mode misspelt', { '/policyFailMode': 'denny' }, [['/policyFailMode', /did you mean `deny`\?/]]],
    [
      'a rule without name',
      { [`${web}/routes/0/rules/0/name`]: undefined },
      [[`${web}/routes/0/rules/0/name`, /is required/]],
    ],
    ['a route without rules', { [`${web}/routes/0/rules`]: [] }, [[`${web}/routes/0/rules`, /at least 1/]]],
    [
      'a scope that is none',
      { [`${web}/allowedRoutes/scopes/0`]: 'a*' },
      [[`${web}/allowedRoutes/scopes/0`, /must be a name/]],
    ],
  ])('%s', (...each) => expectFaults('VirtualService', each));
});
