import { describe, test } from 'vitest';
import { expectFaults, type Malformed } from './samples.ts';

describe('Certificate', () => {
  const pem = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
  test.each<Malformed>([
    ['nothing', { '/chain': undefined }, [['', /exactly one of `chain`, `ca`, and has none/]]],
    ['chain and CA', { '/ca': pem }, [['', /and has `chain`, `ca`/]]],
    ['a CA with a key', { '/chain': undefined, '/ca': pem }, [['/key', /no meaning beside `ca`/]]],
    ['a chain that is no PEM', { '/chain': 'MIIB' }, [['/chain', /must be PEM text/]]],
    ['a chain too long', { '/chain': pem.padEnd(65_537, '\n') }, [['/chain', /at most 65536 characters/]]],
    ['a key that is a number', { '/key': 5 }, [['/key', /must be a text, not a number/]]],
  ])('%s', (...each) => expectFaults('Certificate', each));
});

describe('Fleet and Node', () => {
  test.each<Malformed>([
    [
      'a placement that comes later',
      { '/ha': 'activeStandby' },
      [['/ha', /must be everyNode, not the text "activeStandby"/]],
    ],
    ['no time to drain', { '/drainTimeout': '0s' }, [['/drainTimeout', /from 1s to 1h/]]],
  ])('Fleet: %s', (...each) => expectFaults('Fleet', each));
  test.each<Malformed>([
    ['a label that is a number', { '/labels/a': 1 }, [['/labels/a', /put it in quotes/]]],
    ['an empty failure domain', { '/failureDomain': '' }, [['/failureDomain', /must not be empty/]]],
    ['labels as a list', { '/labels': [] }, [['/labels', /must be/]]],
  ])('Node: %s', (...each) => expectFaults('Node', each));
});

describe('RoleBinding', () => {
  test.each<Malformed>([
    ['nobody', { '/subjects': [] }, [['/subjects', /at least 1 item/]]],
    ['a subject that is two', { '/subjects/0/group': 'web' }, [['/subjects/0', /exactly one of `user`, `group`/]]],
    ['a subject that is none', { '/subjects/0/user': undefined }, [['/subjects/0', /and has none/]]],
    ['blanks around a name', { '/subjects/0/user': ' ada' }, [['/subjects/0/user', /must not begin or end/]]],
    ['a line in a name', { '/subjects/0/user': 'a\nb' }, [['/subjects/0/user', /control characters/]]],
    ['a role that is none', { '/role': 'root' }, [['/role', /must be one of viewer, operator, admin/]]],
    ['a permission that is none', { '/permissions/0': 'all' }, [['/permissions/0', /must be one of machinery/]]],
    ['a role without scopes', { '/scopes': undefined }, [['/scopes', /is required with a role/]]],
    [
      'secrets without scopes',
      { '/scopes': undefined, '/role': undefined },
      [['/permissions/1', /holds in scopes: name some/]],
    ],
    [
      'scopes for nothing',
      { '/role': undefined, '/permissions': ['machinery'] },
      [['/scopes', /no meaning without a role/]],
    ],
    ['nothing given', { '/role': undefined, '/permissions': undefined, '/scopes': undefined }, [['', /gives nothing/]]],
  ])('%s', (...each) => expectFaults('RoleBinding', each));
});
