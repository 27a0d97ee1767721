/**
 * Builds the Go program of bench/peers, which holds the servers to measure against and the load client. It is built
 * into the cache folder, again when its sources change.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { contentHash } from '../src/lib/hash.ts';
import type { Row } from './report.ts';

const sources = fileURLToPath(new URL('peers/', import.meta.url));
const cache = fileURLToPath(new URL('../.cache/peers/', import.meta.url));

/** Where Go's own installer puts it, beside whatever the path has. */
const goPaths = ['go', '/usr/local/go/bin/go', '/usr/lib/go/bin/go'];

/** The program, or why there is none. */
export type PeerProgram = { readonly path: string } | { readonly missing: string };

export function peerProgram(): PeerProgram {
  const path = join(cache, 'peers');
  const stamp = join(cache, 'stamp');
  const wanted = sourceHash();
  if (existsSync(path) && existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return { path };
  const go = goPaths.find((candidate) => spawnSync(candidate, ['version']).status === 0);
  if (go === undefined) return { missing: `there is no Go on this machine (looked for ${goPaths.join(', ')})` };
  console.log('Building the peers (a minute, once) …');
  mkdirSync(cache, { recursive: true });
  const aside = `${path}.${process.pid}`;
  const built = spawnSync(go, ['build', '-buildvcs=false', '-o', aside, '.'], {
    cwd: sources,
    // An older Go fetches the toolchain that go.mod asks for.
    env: { ...process.env, GOTOOLCHAIN: 'auto' },
    encoding: 'utf8',
  });
  if (built.status !== 0) return { missing: `${go} build: ${(built.stderr || String(built.error)).trim()}` };
  renameSync(aside, path);
  writeFileSync(stamp, wanted);
  return { path };
}

/** Measures with the program; where there is none, what it would have measured is one row without figures. */
export async function withPeerProgram(measure: (program: string) => Promise<Row[]>): Promise<Row[]> {
  const program = peerProgram();
  if ('path' in program) return measure(program.path);
  console.log(`The servers to measure against and the load client are missing: ${program.missing}\n`);
  return [{ metric: 'not measured', unit: '', fairway: Number.NaN, peer: null }];
}

function sourceHash(): string {
  const files = readdirSync(sources, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.(go|mod|sum)$/.test(name),
  );
  const text = files.sort().map((name) => `${name}\n${readFileSync(join(sources, name), 'utf8')}`);
  return contentHash(new TextEncoder().encode(text.join('\n')));
}
