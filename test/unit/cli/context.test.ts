import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { contextPath, resolveContext } from '../../../src/cli/context.ts';

let home: string;

beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'fairway-context-'));
  mkdirSync(join(home, 'fairway'));
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

function withFile(text: string, env: Record<string, string> = {}) {
  writeFileSync(join(home, 'fairway', 'config.yaml'), text);
  return { XDG_CONFIG_HOME: home, XDG_STATE_HOME: '/nonexistent', ...env };
}

const two = `
current: prod
contexts:
  prod: { server: https://prod.example:7600/, token: prod-token, scope: team-a }
  lab: { server: lab.example:7600 }
`;

describe('resolveContext', () => {
  it('needs nothing on the machine of an embedded server', async () => {
    expect(await resolveContext({}, { XDG_CONFIG_HOME: '/nonexistent', XDG_STATE_HOME: '/nonexistent' })).toEqual({
      server: 'http://127.0.0.1:7600',
      token: undefined,
      scope: undefined,
      origin: 'default',
    });
  });

  it('takes the current context of the file', async () => {
    expect(await resolveContext({}, withFile(two))).toEqual({
      server: 'https://prod.example:7600',
      token: 'prod-token',
      scope: 'team-a',
      origin: 'context prod',
    });
  });

  it('takes the context that is named', async () => {
    expect(await resolveContext({ context: 'lab' }, withFile(two))).toMatchObject({
      server: 'http://lab.example:7600',
    });
  });

  it('prefers what is nearer: flag, then context flag, then environment, then file', async () => {
    const env = withFile(two, { FAIRWAY_SERVER: 'env.example' });
    expect((await resolveContext({ server: 'http://flag.example' }, env)).server).toBe('http://flag.example');
    expect((await resolveContext({ context: 'lab' }, env)).server).toBe('http://lab.example:7600');
    expect((await resolveContext({}, env)).server).toBe('http://env.example');
  });

  it('sends the token of a context to no other server, and that of the environment to all', async () => {
    const env = withFile(two);
    expect((await resolveContext({ server: 'http://other.example' }, env)).token).toBeUndefined();
    expect((await resolveContext({ context: 'lab' }, env)).token).toBeUndefined();
    const given = { ...env, FAIRWAY_TOKEN: 'mine' };
    expect((await resolveContext({ server: 'http://other.example' }, given)).token).toBe('mine');
    expect((await resolveContext({}, given)).token).toBe('mine');
  });

  const faults: readonly [name: string, text: string, message: RegExp, hint?: RegExp][] = [
    ['a context that is not there', 'contexts: {}\ncurrent: prod', /no context "prod"/],
    ['a near miss', 'contexts: {prod: {server: a}}\ncurrent: prd', /no context "prd"/, /"prod"/],
    ['an unknown field', 'contexts: {a: {sever: b}}', /\/contexts\/a\/sever/, /"server"/],
    ['a context without server', 'contexts: {a: {token: b}}', /names no server/],
    ['a server that is none', 'contexts: {a: {server: "ftp://x"}}\ncurrent: a', /not the address/],
    ['credentials in the address', 'contexts: {a: {server: "http://u:p@x"}}\ncurrent: a', /nothing else/],
    ['a value of a wrong type', 'contexts: {a: {server: 5}}', /must be text/],
    ['a list', '- a', /must be a map/],
    ['what is not YAML', 'a: [', /not valid YAML/],
  ];
  it.each(faults)('refuses %s', async (_name, text, message, hint) => {
    await expect(resolveContext({}, withFile(text))).rejects.toMatchObject({
      message: expect.stringMatching(message),
      exitCode: 2,
      ...(hint === undefined ? {} : { hint: expect.stringMatching(hint) }),
    });
  });

  it('never repeats a token', async () => {
    const failure = await resolveContext({}, withFile('contexts: {a: {server: 5, token: s3cret}}')).catch(
      (error) => error,
    );
    expect(JSON.stringify([failure.message, failure.hint])).not.toContain('s3cret');
  });
});

describe('contextPath', () => {
  it.each([
    [{ FAIRWAY_CONTEXTS: '/x.yaml', HOME: '/h' }, '/x.yaml'],
    [{ XDG_CONFIG_HOME: '/c', HOME: '/h' }, '/c/fairway/config.yaml'],
    [{ HOME: '/h' }, '/h/.config/fairway/config.yaml'],
  ])('%j', (env, want) => {
    expect(contextPath(env)).toBe(want);
  });
});
