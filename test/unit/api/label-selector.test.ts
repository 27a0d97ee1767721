import { describe, expect, it } from 'vitest';
import { parseLabelSelector } from '../../../src/api/label-selector.ts';

const labels = { team: 'web', env: 'prod', 'app.example/tier': '1', empty: '' };

describe('a label selector', () => {
  it.each([
    ['team=web', true],
    ['team==web', true],
    ['team = web', true],
    ['team=api', false],
    ['team!=api', true],
    ['team!=web', false],
    ['missing!=web', true],
    ['missing=', false],
    ['empty=', true],
    ['team in (api, web)', true],
    ['team in (api)', false],
    ['team in(web)', true],
    ['missing in (web)', false],
    ['team notin (api)', true],
    ['team notin (api,web)', false],
    ['missing notin (web)', true],
    ['team', true],
    ['missing', false],
    ['!missing', true],
    ['!team', false],
    ['! team', false],
    ['app.example/tier=1', true],
    ['team=web,env=prod', true],
    ['team=web , env in (prod,test), !missing', true],
    ['team=web,env=test', false],
    // What every object inherits is no label.
    ['constructor', false],
    ['toString!=x', true],
  ])('%s', (text, want) => {
    expect(parseLabelSelector(text, 'labelSelector')(labels)).toBe(want);
  });

  it.each([
    ['', 1],
    ['team=web,', 2],
    [',team', 1],
    ['team=a b', 1],
    ['team in web', 1],
    ['team in (web', 1],
    ['team in (a b)', 1],
    ['-team', 1],
    ['!!team', 1],
    ['team=web,team>1', 2],
    ['team=web=x', 1],
  ])('%s is none, and the message says which', (text, place) => {
    expect(() => parseLabelSelector(text, 'prune')).toThrow(
      expect.objectContaining({
        code: 'InvalidParameter',
        message: expect.stringMatching(new RegExp(`^reading the query: prune must be .*number ${place} is none$`)),
        extra: { parameter: 'prune' },
      }),
    );
  });
});
