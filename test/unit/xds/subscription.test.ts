import { describe, expect, it } from 'vitest';
import { finish } from '../../../src/xds/pieces.ts';
import { applyDelta, createSubscription, type DeltaLists, type Subscription } from '../../../src/xds/subscription.ts';

type Step = { sub?: string[]; unsub?: string[]; stayWildcard?: boolean };

const apply = (subscription: Subscription, lists: DeltaLists) => finish(applyDelta(subscription, lists));

/** Runs the lists of one stream; the result is `* names | legacy possible`, and what the last one asked for. */
function run(steps: Step[]) {
  const subscription = createSubscription();
  let asked = apply(subscription, { subscribe: [], unsubscribe: ['x'], first: false });
  steps.forEach(({ sub = [], unsub = [], stayWildcard = false }, at) => {
    asked = apply(subscription, { subscribe: sub, unsubscribe: unsub, first: at === 0, stayWildcard });
  });
  return {
    wants: [...(subscription.wildcard ? ['*'] : []), ...subscription.names].join(' '),
    answer: asked.answer.join(' '),
    all: asked.all,
    dropped: asked.dropped.join(' '),
    ended: asked.wildcardEnded,
  };
}

const nothing = { wants: '', answer: '', all: false, dropped: '', ended: false };

describe('subscription', () => {
  const cases: readonly [name: string, steps: Step[], want: ReturnType<typeof run>][] = [
    ['rule 16: an empty first list means all', [{}], { ...nothing, wants: '*', all: true }],
    ['rule 16: an empty list after names does not mean all', [{ sub: ['a'] }, {}], { ...nothing, wants: 'a' }],
    [
      'rule 16: nor does it once all names are given up',
      [{ sub: ['a'] }, { unsub: ['a'] }, {}],
      { ...nothing, wants: '' },
    ],
    ['rule 16: an explicit * is all as well', [{ sub: ['*'] }], { ...nothing, wants: '*', all: true }],
    [
      'rule 18: a name after the legacy wildcard keeps it',
      [{}, { sub: ['a'] }],
      { ...nothing, wants: '* a', answer: 'a' },
    ],
    ['rule 18: only unsubscribing * ends it', [{}, { unsub: ['*'] }], { ...nothing, wants: '', ended: true }],
    [
      'rule 18: names stay when * ends',
      [{}, { sub: ['a'] }, { unsub: ['*'] }],
      { ...nothing, wants: 'a', ended: true },
    ],
    ['rule 19: * subscribed and unsubscribed at first means nothing', [{ sub: ['*'], unsub: ['*'] }], nothing],
    [
      'rule 21: names subscribed again are answered',
      [{ sub: ['a'] }, { sub: ['a'] }],
      { ...nothing, wants: 'a', answer: 'a' },
    ],
    ['rule 21: a new * is answered', [{ sub: ['a'] }, { sub: ['*'] }], { ...nothing, wants: '* a', all: true }],
    [
      'rule 21: an explicit * in place of the legacy one is new',
      [{}, { sub: ['*'] }],
      { ...nothing, wants: '*', all: true },
    ],
    ['rule 21: the same * again is not', [{ sub: ['*'] }, { sub: ['*'] }], { ...nothing, wants: '*' }],
    [
      'rule 22: given up and asked for again',
      [{ sub: ['a'] }, { unsub: ['a'] }, { sub: ['a'] }],
      { ...nothing, wants: 'a', answer: 'a' },
    ],
    ['rule 23: an unknown name given up is silent', [{ sub: ['a'] }, { unsub: ['b'] }], { ...nothing, wants: 'a' }],
    ['rule 23: also with *', [{}, { unsub: ['b'] }], { ...nothing, wants: '*' }],
    [
      'rule 23: a name given up while * is active is answered',
      [{ sub: ['*', 'a'] }, { unsub: ['a'] }],
      { ...nothing, wants: '*', answer: 'a' },
    ],
    [
      'rule 24: subscribe first, then unsubscribe',
      [{ sub: ['a', 'b'], unsub: ['a'] }],
      { ...nothing, wants: 'b', answer: 'b', dropped: 'a' },
    ],
    [
      'rule 24: a name and * given up in one request: the name is dropped',
      [{ sub: ['*', 'a'] }, { unsub: ['a', '*'] }],
      { ...nothing, dropped: 'a', ended: true },
    ],
    [
      'rule 32: names listed by an old Envoy stay a wildcard',
      [{ sub: ['a', 'b'], stayWildcard: true }],
      { ...nothing, wants: '*', all: true },
    ],
  ];
  it.each(cases)('%s', (_name, steps, want) => {
    expect(run(steps)).toEqual(want);
  });
});
