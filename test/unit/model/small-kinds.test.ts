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
