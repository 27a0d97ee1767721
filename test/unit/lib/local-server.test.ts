import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findLocalToken, leaveNote, readTokenFile } from '../../../src/lib/local-server.ts';

let home: string;
let env: { XDG_STATE_HOME: string };
let tokenFile: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'fairway-note-'));
  env = { XDG_STATE_HOME: home };
  tokenFile = join(home, 'admin-token');
  writeFileSync(tokenFile, 'secret\n');
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const notePath = () => join(home, 'fairway', 'servers', '7600.json');

describe('a note', () => {
  it('leads to the token of the server at its port, until it is taken away', () => {
    const forget = leaveNote(7600, tokenFile, env);
    expect(findLocalToken(7600, env)).toBe('secret');
    expect(findLocalToken(7601, env)).toBeUndefined();
    expect(findLocalToken(7600, { XDG_STATE_HOME: '/nonexistent' })).toBeUndefined();
    forget();
    expect(findLocalToken(7600, env)).toBeUndefined();
  });

  it('is for its user alone, and does not hold the token', () => {
    leaveNote(7600, tokenFile, env);
    expect(statSync(notePath()).mode & 0o777).toBe(0o600);
    expect(statSync(join(home, 'fairway', 'servers')).mode & 0o777).toBe(0o700);
    expect(readFileSync(notePath(), 'utf8')).not.toContain('secret');
  });

  it('of a server that is gone counts no more: somebody else may have its port', () => {
    mkdirSync(join(home, 'fairway', 'servers'), { recursive: true });
    const { pid } = spawnSync(process.execPath, ['--version']);
    writeFileSync(notePath(), JSON.stringify({ pid, tokenFile }));
    expect(findLocalToken(7600, env)).toBeUndefined();
  });

  it('of another server at the same port stays when the first one ends', () => {
    const forget = leaveNote(7600, tokenFile, env);
    writeFileSync(notePath(), JSON.stringify({ pid: process.ppid, tokenFile }));
    forget();
    expect(findLocalToken(7600, env)).toBe('secret');
  });

  it.each(['', 'nonsense', '[]', '{"pid": "1", "tokenFile": "x"}', '{"pid": 1}'])('that says %j is none', (text) => {
    mkdirSync(join(home, 'fairway', 'servers'), { recursive: true });
    writeFileSync(notePath(), text);
    expect(findLocalToken(7600, env)).toBeUndefined();
  });

  it('that cannot be left is no failure', () => {
    expect(() => leaveNote(7600, tokenFile, { XDG_STATE_HOME: tokenFile })()).not.toThrow();
  });
});

describe('a file with a token', () => {
  it('that is empty or not there holds none', () => {
    writeFileSync(tokenFile, '\n');
    chmodSync(tokenFile, 0o600);
    expect(readTokenFile(tokenFile)).toBeUndefined();
    expect(readTokenFile(join(home, 'gone'))).toBeUndefined();
  });
});
