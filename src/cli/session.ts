import { readFileSync } from 'node:fs';
import { type Client, createClient } from './client.ts';
import { type Context, type ContextFlags, resolveContext } from './context.ts';

import type { Io } from './io.ts';
import { createPaint, type Paint } from './output/colour.ts';

/** One run of one command: what it may use, and how it ends. */
export interface Session {
  readonly io: Io;
  /** For standard output. */
  readonly paint: Paint;
  /** Connection flags of the command line. */
  readonly flags: ContextFlags;
  /** Read when first asked for. */
  context(): Promise<Context>;
  client(options?: { readonly timeoutMs?: number }): Promise<Client>;
  /** Set by a command that ends well with another code than 0. */
  exitCode: number;
}

export function createSession(io: Io, flags: ContextFlags): Session {
  let context: Promise<Context> | undefined;
  const session: Session = {
    io,
    paint: createPaint(io.out, io.env),
    flags,
    exitCode: 0,
    context() {
      context ??= resolveContext(flags, io.env);
      return context;
    },
    async client(options) {
      return createClient(await session.context(), { userAgent: `fairway/${version()}`, ...options });
    },
  };
  return session;
}

/** Of this Fairway, from package.json. */
export function version(): string {
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    readonly version: string;
  };
  return manifest.version;
}
