import { describe, test } from 'vitest';
import { expectFaults, type Malformed } from './samples.ts';

/** The first rule of the sample. */
const action = '/rules/0/action';

describe('malformed Route', () => {
  const match = '/rules/0/match/0';
  test.each<Malformed>([
    ['not attached', { '/attachTo': [] }, [['/attachTo', /at least 1/]]],
    [
      'attached twice',
      { '/attachTo/1': { virtualService: 'edge/shop', listener: 'web' } },
      [['/attachTo/1', /already used/]],
    ],
    ['no listener named', { '/attachTo/0/listener': undefined }, [['/attachTo/0/listener', /is required/]]],
    [
      'two rules of a name',
      { '/rules/1/name': 'api' },
      [['/rules/1/name', /`api` is already used by \/spec\/rules\/0/]],
    ],
    [
      'two paths',
      { [`${match}/path/exact`]: '/b' },
      [[`${match}/path`, /exactly one of `exact`, `prefix`, `regex`, and has `exact`, `prefix`/]],
    ],
    ['an empty path match', { [`${match}/path`]: {} }, [[`${match}/path`, /and has none/]]],
    ['a path as text', { [`${match}/path`]: '/api' }, [[`${match}/path`, /must be an object, not the text "\/api"/]]],
    [
      'a relative path',
      { [`${match}/path/prefix`]: 'api' },
      [[`${match}/path/prefix`, /must begin with `\/`, not "api"/]],
    ],
    ['a path with a query', { [`${match}/path/prefix`]: '/api?x=1' }, [[`${match}/path/prefix`, /without query/]]],
    ['a path with a blank', { [`${match}/path/prefix`]: '/a b' }, [[`${match}/path/prefix`, /percent-encoded/]]],
    [
      'a path too long',
      { [`${match}/path/prefix`]: `/${'a'.repeat(1024)}` },
      [[`${match}/path/prefix`, /at most 1024 characters, not 1025/]],
    ],
    [
      'a regex that does not compile',
      { '/rules/1/match/0/path/regex': '/a[invalid' },
      [['/rules/1/match/0/path/regex', /`\[` without `\]` \(character 3\)/]],
    ],
    [
      'a regex that looks ahead',
      { '/rules/1/match/0/path/regex': '/a(?!b)' },
      [['/rules/1/match/0/path/regex', /look-around `\(\?!` does not exist in RE2/]],
    ],
    [
      'a regex with a back-reference',
      { '/rules/1/match/0/path/regex': '/(a)\\1' },
      [['/rules/1/match/0/path/regex', /back-references do not exist in RE2/]],
    ],
    [
      'a regex too long',
      { '/rules/1/match/0/path/regex': 'a'.repeat(513) },
      [['/rules/1/match/0/path/regex', /at most 512 characters/]],
    ],
    [
      'a regex too large',
      { '/rules/1/match/0/path/regex': '(.{100}){5}' },
      [['/rules/1/match/0/path/regex', /too large: about [0-9]+ instructions, at most 5000/]],
    ],
    ['an empty regex', { '/rules/1/match/0/path/regex': '' }, [['/rules/1/match/0/path/regex', /must not be empty/]]],
    ['a method in lower case', { [`${match}/methods/0`]: 'get' }, [[`${match}/methods/0`, /did you mean `GET`\?/]]],
    ['CONNECT', { [`${match}/methods/0`]: 'CONNECT' }, [[`${match}/methods/0`, /must be one of GET/]]],
    ['a method twice', { [`${match}/methods/1`]: 'GET' }, [[`${match}/methods/1`, /the same as/]]],
    [
      'a pseudo-header',
      { [`${match}/headers/0/name`]: ':path' },
      [[`${match}/headers/0/name`, /use `hosts`, `path` or `methods`/]],
    ],
    ['the Host header', { [`${match}/headers/0/name`]: 'Host' }, [[`${match}/headers/0/name`, /use `hosts`/]]],
    [
      'a header name with a blank',
      { [`${match}/headers/0/name`]: 'x y' },
      [[`${match}/headers/0/name`, /must be the name of a header, not "x y"/]],
    ],
    [
      'a header matched in two ways',
      { [`${match}/headers/0/exact`]: 'v1' },
      [[`${match}/headers/0`, /and has `exact`, `regex`/]],
    ],
    [
      'a header matched in no way',
      { [`${match}/headers/0/regex`]: undefined },
      [[`${match}/headers/0`, /and has none/]],
    ],
    [
      'present: false',
      { [`${match}/headers/1/present`]: false },
      [[`${match}/headers/1/present`, /must be true, not false/]],
    ],
    ['an empty header value', { [`${match}/query/0/exact`]: '' }, [[`${match}/query/0/exact`, /must not be empty/]]],
    ['an inverted query', { [`${match}/query/0/invert`]: true }, [[`${match}/query/0/invert`, /is not a field here/]]],
    [
      'no forwarding at all',
      { [`${action}/forward`]: undefined },
      [[action, /exactly one of `forward`, `redirect`, `respond`, and has none/]],
    ],
    [
      'forward and redirect',
      { [`${action}/redirect`]: { scheme: 'https' } },
      [[action, /and has `forward`, `redirect`/]],
    ],
    ['nothing to forward to', { [`${action}/forward`]: [] }, [[`${action}/forward`, /at least 1/]]],
    [
      'a negative weight',
      { [`${action}/forward/0/weight`]: -1 },
      [[`${action}/forward/0/weight`, /from 0 to 1000000, not -1/]],
    ],
    [
      'a weight above uint32',
      { [`${action}/forward/0/weight`]: 4_294_967_296 },
      [[`${action}/forward/0/weight`, /from 0 to 1000000/]],
    ],
    [
      'a pool twice',
      { [`${action}/forward/1`]: { pool: 'api', weight: 2 } },
      [[`${action}/forward/1/pool`, /`api` is already used/]],
    ],
    [
      'a pool as an object',
      { [`${action}/forward/0/pool`]: { name: 'api' } },
      [[`${action}/forward/0/pool`, /must be a text, not an object/]],
    ],
    [
      'forward as an object',
      { [`${action}/forward`]: { pool: 'api' } },
      [[`${action}/forward`, /must be a list, not an object/]],
    ],
    [
      'two ways to rewrite',
      { [`${action}/rewrite/path`]: '/x' },
      [[`${action}/rewrite`, /at most one of `path`, `prefix` and `regex`, and has `path` and `prefix`/]],
    ],
    ['a rewrite of nothing', { [`${action}/rewrite`]: {} }, [[`${action}/rewrite`, /must change something/]]],
    [
      'a prefix rewrite of an exact path',
      { [`${match}/path`]: { exact: '/api' } },
      [[`${action}/rewrite/prefix`, /each match of the rule must match its path by `prefix`/]],
    ],
    [
      'a prefix rewrite with one match that has none',
      { '/rules/0/match/1/path': { regex: '/a' } },
      [[`${action}/rewrite/prefix`, /each match/]],
    ],
    [
      'a substitution of a group too many',
      { '/rules/1/action/rewrite/regex/substitution': '/\\2' },
      [['/rules/1/action/rewrite/regex/substitution', /it has 1, and `\\2` is not among them/]],
    ],
    [
      'a substitution with a lone backslash',
      { '/rules/1/action/rewrite/regex/substitution': '/\\x' },
      [['/rules/1/action/rewrite/regex/substitution', /a second backslash/]],
    ],
    [
      'a substitution that ends in a backslash',
      { '/rules/1/action/rewrite/regex/substitution': '/\\' },
      [['/rules/1/action/rewrite/regex/substitution', /a second backslash/]],
    ],
    [
      'a host to rewrite to that is a URL',
      { [`${action}/rewrite/host`]: 'http://a' },
      [[`${action}/rewrite/host`, /must be a DNS name/]],
    ],
    [
      'setting Host',
      { [`${action}/headers/request/set`]: { HOST: 'a' } },
      [[`${action}/headers/request/set/HOST`, /use `rewrite.host`/]],
    ],
    [
      'adding a pseudo-header',
      { [`${action}/headers/request/add`]: { ':path': '/' } },
      [[`${action}/headers/request/add/:path`, /is changed by `rewrite`/]],
    ],
    [
      'removing what frames a message',
      { [`${action}/headers/response/remove`]: ['Transfer-Encoding'] },
      [[`${action}/headers/response/remove/0`, /which the proxy itself keeps/]],
    ],
    [
      'a header value with a line break',
      { [`${action}/headers/request/set`]: { a: 'b\r\nc: d' } },
      [[`${action}/headers/request/set/a`, /CR, LF or NUL/]],
    ],
    [
      'a header value that is a number',
      { [`${action}/headers/request/set`]: { a: 1 } },
      [[`${action}/headers/request/set/a`, /must be a text, not the number 1; put it in quotes/]],
    ],
    [
      'a header changed twice',
      { [`${action}/headers/request/add`]: { 'X-From': 'b' } },
      [[`${action}/headers/request/add/X-From`, /is already changed by .*\/set\/x-from/]],
    ],
    [
      'a header set and removed',
      { [`${action}/headers/request/remove/0`]: 'X-FROM' },
      [[`${action}/headers/request/remove/0`, /is already changed by/]],
    ],
    [
      'a try longer than all of them',
      { [`${action}/retry/perTry`]: '11s' },
      [[`${action}/retry/perTry`, /at most the `timeout` of 10s/]],
    ],
    ['no reason to retry', { [`${action}/retry/on`]: [] }, [[`${action}/retry/on`, /at least 1/]]],
    [
      'a reason to retry misspelt',
      { [`${action}/retry/on/0`]: 'connection-failure' },
      [[`${action}/retry/on/0`, /did you mean `connect-failure`\?/]],
    ],
    ['too many attempts', { [`${action}/retry/attempts`]: 11 }, [[`${action}/retry/attempts`, /from 1 to 10, not 11/]]],
    [
      'a reversed backoff',
      { [`${action}/retry/backoff/max`]: '10ms' },
      [[`${action}/retry/backoff/max`, /at least `base`, which is 50ms/]],
    ],
    [
      'a timeout of a redirect',
      { '/rules/2/action/timeout': '5s' },
      [['/rules/2/action/timeout', /only with `forward`/]],
    ],
    [
      'request headers of a redirect',
      { '/rules/2/action/headers': { request: { set: { a: 'b' } } } },
      [['/rules/2/action/headers/request', /only with `forward`/]],
    ],
    [
      'a redirect to nowhere',
      { '/rules/2/action/redirect': { code: 301 } },
      [['/rules/2/action/redirect', /must change something/]],
    ],
    [
      'a redirect with path and prefix',
      { '/rules/2/action/redirect/prefix': '/z' },
      [['/rules/2/action/redirect', /at most one of `path` and `prefix`/]],
    ],
    [
      'a prefix redirect of an exact path',
      { '/rules/2/action/redirect': { prefix: '/z' } },
      [['/rules/2/action/redirect/prefix', /each match/]],
    ],
    [
      'a redirect with status 200',
      { '/rules/2/action/redirect/code': 200 },
      [['/rules/2/action/redirect/code', /one of 301, 302, 303, 307, 308, not the number 200/]],
    ],
    [
      'a redirect to another protocol',
      { '/rules/2/action/redirect/scheme': 'ftp' },
      [['/rules/2/action/redirect/scheme', /one of http, https/]],
    ],
    [
      'an informational answer',
      { '/rules/3/action/respond/status': 199 },
      [['/rules/3/action/respond/status', /from 200 to 599, not 199/]],
    ],
    [
      'an answer above 599',
      { '/rules/3/action/respond/status': 600 },
      [['/rules/3/action/respond/status', /from 200 to 599, not 600/]],
    ],
    [
      'a body of 4097 bytes',
      { '/rules/3/action/respond/body': `${'ä'.repeat(2048)}a` },
      [['/rules/3/action/respond/body', /at most 4096 bytes, not 4097/]],
    ],
    [
      'a body of an answer without',
      { '/rules/3/action/respond/status': 204 },
      [['/rules/3/action/respond/body', /an answer 204 has no body/]],
    ],
  ])('%s', (...each) => expectFaults('Route', each));
});
