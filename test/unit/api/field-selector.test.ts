import { describe, expect, it } from 'vitest';
import { parseFieldSelector } from '../../../src/api/field-selector.ts';
import type { Status } from '../../../src/api/index.ts';
import { type FairwayObject, type Kind, parseObject } from '../../../src/model/index.ts';

function object(kind: Kind, spec: object): FairwayObject {
  const draft = parseObject({ apiVersion: 'fairway/v1', kind, metadata: { name: 'shop' }, spec });
  if (!draft.ok) throw new Error(JSON.stringify(draft.error));
  return draft.value as FairwayObject;
}

const pool = object('BackendPool', { algorithm: 'random', tls: { ca: 'internal', sni: 'shop.internal' }, members: [] });
const service = object('VirtualService', {
  listeners: [{ name: 'web', port: 80, protocol: 'HTTP' }],
  fleet: 'edge',
});
const status: Status = {
  observedGeneration: 1,
  conditions: [
    {
      type: 'Programmed',
      status: 'False',
      reason: 'Pending',
      message: '',
      observedGeneration: 1,
      lastTransitionTime: '',
    },
  ],
};

describe('a field selector', () => {
  it.each([
    [pool, 'metadata.name=shop', true],
    [pool, 'metadata.name!=shop', false],
    [pool, 'metadata.scope==default', true],
    [pool, 'spec.algorithm=random', true],
    [pool, 'spec.tls.sni=shop.internal', true],
    [pool, 'spec.tls.certificate=x', false],
    [pool, 'spec.tls.certificate!=x', true],
    [pool, 'spec.protocol=http1', true],
    [service, 'spec.fleet=edge,spec.enabled=true', true],
    [service, 'spec.fleet=edge,spec.enabled=false', false],
    [service, 'status.conditions.Programmed=False', true],
    [service, 'status.conditions.Programmed!=False', false],
    [service, 'status.conditions.ResolvedRefs=Unknown', true],
  ])('of %#: %s', (of, text, want) => {
    expect(parseFieldSelector(text, of.kind).matches(of, () => status)).toBe(want);
  });

  it('asks for the status only where a term is about it', () => {
    const refuse = () => {
      throw new Error('asked');
    };
    const plain = parseFieldSelector('spec.fleet=edge', 'VirtualService');
    expect(plain.usesStatus).toBe(false);
    expect(plain.matches(service, refuse)).toBe(true);
    const both = parseFieldSelector('spec.fleet=core,status.conditions.Programmed=True', 'VirtualService');
    expect(both.usesStatus).toBe(true);
    expect(both.matches(service, refuse)).toBe(false);
  });

  it.each<[Kind, string, string]>([
    ['BackendPool', '', 'number 1 is none'],
    ['BackendPool', 'metadata.name=a,=b', 'number 2 is none'],
    ['BackendPool', 'metadata.labels=a', 'metadata.name'],
    ['BackendPool', 'spec.algorithms=a', 'did you mean `spec.algorithm`'],
    ['BackendPool', 'spec.tls=a', 'no single value'],
    ['BackendPool', 'spec=a', 'no single value'],
    ['BackendPool', 'spec.constructor=a', 'names spec.constructor'],
    ['BackendPool', 'spec.members.port=1', 'names spec.members.port'],
    ['Certificate', 'spec.key=a', 'no single value that is shown'],
    ['Fleet', 'metadata.scope=default', 'names metadata.scope'],
    ['Fleet', 'status.conditions.Healthy=True', 'names status.conditions.Healthy'],
    ['Fleet', 'status.conditions.Programmed.x=True', 'names status.conditions.Programmed.x'],
    ['Fleet', 'status.conditions.Programmed=true', 'True, False or Unknown'],
  ])('of a %s is refused: %s', (kind, text, words) => {
    expect(() => parseFieldSelector(text, kind)).toThrow(
      expect.objectContaining({ code: 'InvalidParameter', message: expect.stringContaining(words) }),
    );
  });
});
