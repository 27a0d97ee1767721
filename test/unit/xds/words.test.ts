import { describe, expect, it } from 'vitest';
import { typeUrls } from '../../../src/xds/index.ts';
import { isHostFault, normaliseWords } from '../../../src/xds/words.ts';

describe('words of a refusal', () => {
  it.each([
    ['random marks and spaces', 'goo.gle/debugonly  name:   "c1"\n  type: EDS', 'name: "c1" type: EDS'],
    ['the same fault, another mark', 'goo.gle/debugproto name: "c1" type:  EDS\n', 'name: "c1" type: EDS'],
    ['the third mark', 'bad: goo.gle/debugstr x', 'bad: x'],
    [
      'inline text of a secret',
      'private_key { inline_string: "MIIE\\"vQ\\n" } x: 1',
      'private_key { inline_string: "[redacted]" } x: 1',
    ],
    ['inline bytes that were cut off', 'inline_bytes: "abc', 'inline_bytes: "[redacted]"'],
    ['a key in PEM', 'got -----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY----- here', 'got [redacted] here'],
    ['a key in PEM that was cut off', 'got -----BEGIN EC PRIVATE KEY-----\nMIIE', 'got [redacted]'],
    ['nothing', '', ''],
  ])('are comparable and safe: %s', (_name, input, want) => {
    expect(normaliseWords(input)).toBe(want);
  });

  it('are bounded', () => {
    expect(normaliseWords('x'.repeat(1_000_000)).length).toBe(600);
  });

  it.each([
    ["Error adding/updating listener(s) l2: cannot bind '192.0.2.77:80': Cannot assign requested address", true],
    ["l8: cannot bind '0.0.0.0:80': Address already in use", true],
    ["'l10' has duplicate address '127.0.0.1:80' as existing listener", false],
    ['Proto constraint validation failed', false],
  ])('tell faults of the host from faults of the resource: %s', (words, want) => {
    expect(isHostFault(typeUrls.listener, words)).toBe(want);
    expect(isHostFault(typeUrls.cluster, words)).toBe(false);
  });
});
