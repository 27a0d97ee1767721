import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { backupMediaType, bytesOf, checkBackup } from '../backup-file.ts';
import type { Client } from '../client.ts';
import { CliError, exitCodes } from '../failure.ts';
import type { Io } from '../io.ts';
import { count } from '../output/text.ts';
import type { Session } from '../session.ts';

interface Options {
  readonly force?: boolean;
}

export function define(command: Command, session: Session): void {
  command
    .argument('<file>', 'a backup, of this store or of another one')
    .option('--force', 'replace what a store holds that is not empty')
    .addHelpText(
      'after',
      `
The backup is checked as a whole before anything is written. While it is written no controller is ready; proxies keep
what they have. A restore that is broken off must be made again.`,
    )
    .action((file: string, options: Options) => restore(file, options, session));
}

async function restore(file: string, { force = false }: Options, session: Session): Promise<void> {
  const { io } = session;
  const { header, entries } = await checkBackup(bytesOf(file), file);
  const client = await session.client();
  const upload = { contentType: backupMediaType, bytes: bytesOf(file) };
  const query = force ? { force } : {};
  const answer = await client.upload('/v1/restore', upload, { query, signal: io.signal });
  const { revision = '' } = answer as { readonly revision?: string };
  await untilReady(client, io);
  io.out.write(
    `${count(entries, 'entry', 'entries')} restored as of revision ${header.revision}; the store is at revision ${revision}\n`,
  );
}

/** A server that waited for the restore starts now. */
const readyLimitMs = 120_000;
const lookMs = 200;

async function untilReady(client: Client, io: Io): Promise<void> {
  const end = io.now() + readyLimitMs;
  while (io.now() < end) {
    const ready = await client.probe('/readyz').catch((error: unknown) => {
      // Between two doors nobody listens for a moment.
      if (error instanceof CliError && error.exitCode === exitCodes.unreachable) return undefined;
      throw error;
    });
    if (ready?.status === 200) return;
    await sleep(lookMs, undefined, { signal: io.signal });
  }
  throw new CliError(exitCodes.timeout, `it is restored, but ${client.server} is not ready yet`);
}
