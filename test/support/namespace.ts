import { execFile, type SpawnOptions, spawn } from 'node:child_process';
import { promisify } from 'node:util';
import { debianProgram } from './debian.ts';

const exec = promisify(execFile);

/** A network of its own behind a cable, whose packets can be made to vanish. */
export interface Namespace {
  /** Address of this machine as seen from there. */
  readonly hostAddress: string;
  /** Starts a program in it. */
  spawn(command: string, args: readonly string[], options?: SpawnOptions): ReturnType<typeof spawn>;
  /** From now on no packet passes, and nobody is told. */
  cut(): Promise<void>;
  mend(): Promise<void>;
  close(): Promise<void>;
}

/** Makes a namespace, or gives the words for `context.skip(…)` where that cannot be done. */
export async function createNamespace(): Promise<Namespace | { readonly missing: string }> {
  if (process.getuid?.() !== 0) return { missing: 'network namespaces need root' };
  const ip = await debianProgram('ip', 'iproute2');
  if ('missing' in ip) return ip;
  const nft = await debianProgram('nft', 'nftables');
  if ('missing' in nft) return nft;
  const { pid } = process;
  const name = `fairway-${pid}`;
  const [outer, inner] = [`fw${pid}a`, `fw${pid}b`];
  // Of the range for tests of networks (RFC 2544), four addresses for each process.
  const address = (last: number): string => `198.18.${(pid >> 6) & 255}.${((pid & 63) << 2) + last}`;
  const run = (...args: string[]) => exec(ip.path, args);
  const inside = (...args: string[]) => run('netns', 'exec', name, nft.path, ...args);

  const close = async (): Promise<void> => {
    // The cable goes with its end.
    await run('netns', 'del', name).catch(() => undefined);
    await run('link', 'del', outer).catch(() => undefined);
  };
  try {
    await run('netns', 'add', name);
    await run('link', 'add', outer, 'type', 'veth', 'peer', 'name', inner, 'netns', name);
    await run('addr', 'add', `${address(1)}/30`, 'dev', outer);
    await run('link', 'set', outer, 'up');
    await run('-n', name, 'addr', 'add', `${address(2)}/30`, 'dev', inner);
    await run('-n', name, 'link', 'set', inner, 'up');
    await run('-n', name, 'link', 'set', 'lo', 'up');
  } catch (error) {
    await close();
    return { missing: `a network namespace cannot be made: ${error instanceof Error ? error.message : error}` };
  }
  return {
    hostAddress: address(1),
    spawn: (command, args, options = {}) => spawn(ip.path, ['netns', 'exec', name, command, ...args], options),
    async cut() {
      await inside('add', 'table', 'inet', 'cut');
      for (const hook of ['input', 'output']) {
        await inside(`add chain inet cut ${hook} { type filter hook ${hook} priority 0; policy drop; }`);
      }
    },
    async mend() {
      await inside('delete', 'table', 'inet', 'cut');
    },
    close,
  };
}
