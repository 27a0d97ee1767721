import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/**
 * How the command line finds the admin token of a server that the same user runs on this machine: the server leaves a
 * note in a folder of that user, under the port that it listens at. The token itself stays beside the data.
 */

type Env = Readonly<Record<string, string | undefined>>;

interface Note {
  readonly pid: number;
  readonly tokenFile: string;
}

/** Name of the file with the first admin token, in the data folder. */
export const adminTokenName = 'admin-token';

/** Leaves the note; gives the function that takes it away. A user without a folder has none, which is no failure. */
export function leaveNote(port: number, tokenFile: string, env: Env): () => void {
  const path = notePath(port, env);
  const note: Note = { pid: process.pid, tokenFile };
  try {
    mkdirSync(folderOf(env), { recursive: true, mode: 0o700 });
    rmSync(path, { force: true });
    writeFileSync(path, JSON.stringify(note), { mode: 0o600 });
  } catch {
    return () => undefined;
  }
  return () => {
    // Unless another server has taken the port since.
    if (readNote(path)?.pid === process.pid) rmSync(path, { force: true });
  };
}

/** The admin token of the server that this user runs at that port; undefined: there is none that can be read. */
export function findLocalToken(port: number, env: Env): string | undefined {
  const note = readNote(notePath(port, env));
  // A server that is gone may have left its port to somebody else, who is not to be told.
  if (note === undefined || !isRunning(note.pid)) return undefined;
  return readTokenFile(note.tokenFile);
}

/** The token in a file; undefined: it cannot be read, or is empty. */
export function readTokenFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
}

function folderOf(env: Env): string {
  const state = env['XDG_STATE_HOME'] || join(env['HOME'] || homedir(), '.local', 'state');
  return join(state, 'fairway', 'servers');
}

function notePath(port: number, env: Env): string {
  return join(folderOf(env), `${port}.json`);
}

function readNote(path: string): Note | undefined {
  try {
    const { pid, tokenFile } = JSON.parse(readFileSync(path, 'utf8')) as Partial<Note>;
    return typeof pid === 'number' && typeof tokenFile === 'string' ? { pid, tokenFile } : undefined;
  } catch {
    return undefined;
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
