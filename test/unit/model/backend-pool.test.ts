import { describe, test } from 'vitest';
import { expectFaults, type Malformed } from './samples.ts';

describe('malformed BackendPool', () => {
  const health = '/healthChecks/0';
  test.each<Malformed>([
    [
      'an address that is nearly one',
      { '/members/0/address': '10.0.0.300' },
      [['/members/0/address', /DNS name or a valid IPv4 address, not "10.0.0.300"/]],
    ],
    ['an empty address', { '/members/0/address': '' }, [['/members/0/address', /must be a DNS name/]]],
    [
      'an address with its port',
      { '/members/0/address': '10.0.0.5:80' },
      [['/members/0/address', /alone, not "10.0.0.5:80"/]],
    ],
    ['the address of nobody', { '/members/0/address': '::' }, [['/members/0/address', /:: is none/]]],
    ['a group address', { '/members/0/address': 'ff02::1' }, [['/members/0/address', /group address/]]],
    ['a name with an underscore', { '/members/0/address': 'my_app' }, [['/members/0/address', /must be a DNS name/]]],
    ['a label too long', { '/members/0/address': 'a'.repeat(64) }, [['/members/0/address', /must be a DNS name/]]],
    ['a name too long', { '/members/0/address': `${'a.'.repeat(127)}aa` }, [['/members/0/address', /at most 253/]]],
    ['no port', { '/members/0/port': undefined }, [['/members/0/port', /is required/]]],
    [
      'a member twice',
      { '/members/2': { address: '2001:DB8:0::5', port: 8080 } },
      [['/members/2', /`\[2001:db8::5\]:8080` is already used by \/spec\/members\/1/]],
    ],
    ['a weight above the limit', { '/members/0/weight': 65_536 }, [['/members/0/weight', /from 0 to 65535/]]],
    ['a priority above the limit', { '/members/0/priority': 128 }, [['/members/0/priority', /from 0 to 127/]]],
    [
      'too many members',
      { '/members': Array.from({ length: 2049 }, (_, i) => ({ address: `a${i}`, port: 1 })) },
      [['/members', /at most 2048 items, not 2049/]],
    ],
    ['an algorithm misspelt', { '/algorithm': 'maglef' }, [['/algorithm', /did you mean `maglev`\?/]]],
    ['maglev without hash', { '/hash': undefined }, [['/hash', /is required with algorithm maglev/]]],
    ['a hash without effect', { '/algorithm': 'random' }, [['/hash', /no effect with algorithm random/]]],
    ['a hash without a name', { '/hash/name': undefined }, [['/hash/name', /is required with source header/]]],
    [
      'a hash with a name too much',
      { '/hash/source': 'sourceIp' },
      [['/hash/name', /no meaning with source sourceIp/]],
    ],
    ['a hash by a name that is none', { '/hash/name': 'a b' }, [['/hash/name', /must be the name of a header/]]],
    ['a slow start without effect', { '/slowStart': '30s' }, [['/slowStart', /no effect with algorithm maglev/]]],
    ['two checks', { '/healthChecks/1': { type: 'TCP' } }, [['/healthChecks', /at most 1 item, not 2/]]],
    [
      'a check of a kind that comes later',
      { [`${health}/type`]: 'ICMP' },
      [[`${health}/type`, /one of HTTP, TCP, GRPC/]],
    ],
    [
      'a reversed range',
      { [`${health}/expect/0`]: '299-200' },
      [[`${health}/expect/0`, /is reversed: 200-299 was probably meant/]],
    ],
    [
      'a status that is none',
      { [`${health}/expect/0`]: '2xx' },
      [[`${health}/expect/0`, /such as 204 or a range such as 200-299, not "2xx"/]],
    ],
    ['a status out of range', { [`${health}/expect/2`]: 600 }, [[`${health}/expect/2`, /from 100 to 599, not 600/]]],
    ['a range out of range', { [`${health}/expect/0`]: '500-600' }, [[`${health}/expect/0`, /within 100-599/]]],
    [
      'a status that is a list',
      { [`${health}/expect/0`]: [200] },
      [[`${health}/expect/0`, /a whole number or a text, not a list/]],
    ],
    ['an interval of nothing', { [`${health}/interval`]: '0s' }, [[`${health}/interval`, /from 100ms to 1h, not 0s/]]],
    ['rise 0', { [`${health}/rise`]: 0 }, [[`${health}/rise`, /from 1 to 100, not 0/]]],
    [
      'a TCP check with HTTP fields',
      { [`${health}/type`]: 'TCP' },
      [
        [`${health}/path`, /only for type HTTP/],
        [`${health}/host`, /only for type HTTP/],
        [`${health}/expect`, /only for type HTTP/],
      ],
    ],
    [
      'a gRPC check without HTTP/2',
      { [health]: { type: 'GRPC', service: 'a' } },
      [[`${health}/type`, /unless the `protocol` of the pool is http2/]],
    ],
    ['a path with a fragment', { [`${health}/path`]: '/a#b' }, [[`${health}/path`, /fragment/]]],
    ['a path with a line break', { [`${health}/path`]: '/a\nb' }, [[`${health}/path`, /percent-encoded/]]],
    [
      'a limit that would wrap',
      { '/limits/maxRequests': 4_294_967_296 },
      [['/limits/maxRequests', /from 1 to 4294967295, not 4294967296/]],
    ],
    ['a limit of nothing', { '/limits/maxPending': 0 }, [['/limits/maxPending', /from 1 to/]]],
    [
      'more than a hundred percent',
      { '/outlierDetection/maxEjectionPercent': 101 },
      [['/outlierDetection/maxEjectionPercent', /from 0 to 100/]],
    ],
    ['a drain time beyond a day', { '/drainTimeout': '25h' }, [['/drainTimeout', /from 0s to 24h, not 25h/]]],
    ['no connect timeout', { '/connectTimeout': '0s' }, [['/connectTimeout', /from 1ms to 5m, not 0s/]]],
    ['TLS without CA', { '/tls/ca': undefined }, [['/tls/ca', /is required/]]],
    [
      'TLS that is not verified',
      { '/tls/insecureSkipVerify': true },
      [['/tls/insecureSkipVerify', /is not a field here/]],
    ],
    ['a server name that is an address', { '/tls/sni': '10.0.0.5' }, [['/tls/sni', /not the address 10.0.0.5/]]],
    ['auto without TLS', { '/tls': undefined }, [['/protocol', /must not be auto without `tls`/]]],
    ['a scope twice', { '/allowedScopes/1': 'team-a' }, [['/allowedScopes/1', /the same as/]]],
  ])('%s', (...each) => expectFaults('BackendPool', each));
});
