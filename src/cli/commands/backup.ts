import { open, rename, rm } from 'node:fs/promises';
import type { Command } from 'commander';
import { type CheckedBackup, checkBackup, fileFault } from '../backup-file.ts';
import { count } from '../output/text.ts';
import type { Session } from '../session.ts';

export function define(command: Command, session: Session): void {
  command
    .argument('<file>', 'where to save it; `-` is standard output')
    .addHelpText(
      'after',
      `
Private keys are in it as they are in the store: sealed. The data keys that open them are not; keep a copy of those
elsewhere. The file is made for its owner alone, and only once it is whole.`,
    )
    .action((file: string) => backup(file, session));
}

async function backup(file: string, session: Session): Promise<void> {
  const { io } = session;
  const client = await session.client();
  const bytes = client.download('/v1/backup', { signal: io.signal });
  if (file === '-') {
    const decoder = new TextDecoder();
    await checkBackup(
      passing(bytes, async (chunk) => io.out.write(decoder.decode(chunk, { stream: true }))),
      'the backup',
    );
    return;
  }
  // Beside it, so that a backup that is there stays there until this one is whole.
  const partial = `${file}.partial`;
  try {
    const { header, entries } = await saved(bytes, partial);
    await rename(partial, file);
    io.out.write(`${file}: ${count(entries, 'entry', 'entries')} of revision ${header.revision}\n`);
  } catch (error) {
    await rm(partial, { force: true });
    throw fileFault(error, file);
  }
}

async function saved(bytes: AsyncIterable<Uint8Array>, file: string): Promise<CheckedBackup> {
  await using handle = await open(file, 'w', 0o600);
  // One that was left there may be open to others.
  await handle.chmod(0o600);
  const checked = await checkBackup(
    passing(bytes, (chunk) => handle.appendFile(chunk)),
    'the backup',
  );
  await handle.sync();
  return checked;
}

/** What passes by, after it was taken. */
async function* passing(
  chunks: AsyncIterable<Uint8Array>,
  take: (chunk: Uint8Array) => Promise<void>,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const chunk of chunks) {
    await take(chunk);
    yield chunk;
  }
}
