import { constants } from 'node:fs';
import { mkdir, open, readFile, rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createSealer, newDataKey, parseDataKeys, type Sealer } from '../lib/sealer.ts';

/** Where the data keys come from. */
export interface DataKeySource {
  /** The keys themselves (`FAIRWAY_DATA_KEYS`); they go before the file. */
  readonly text?: string | undefined;
  readonly file: string;
  /** What to do when there is neither: make the file, make a key that ends with the process, or refuse. */
  readonly otherwise: 'create' | 'ephemeral' | 'refuse';
}

export interface DataKeys {
  readonly sealer: Sealer;
  /** What to call the place that they come from, for whoever has to mend something there. */
  readonly origin: string;
  /** The key ends with the process. */
  readonly isEphemeral: boolean;
  /** The file was made just now. */
  readonly isNew: boolean;
}

/** The server cannot start with what it was given, or go over to it. The message is for whoever starts it, and may name files. */
export class StartRefused extends Error {
  override readonly name = 'StartRefused';
}

const variable = 'FAIRWAY_DATA_KEYS';

const fileHeader = `\
# Keys that seal the secrets in the store of a Fairway (private keys, passwords). Whoever has this file and the store has
# the secrets; without this file they are lost. Keep a copy of it apart from the store and from its backups.
# One key a line, 32 bytes in base64. All of them open, the last one seals.
`;

/** One for all servers of a process, since they may share a store. */
let ephemeral: string | undefined;

/**
 * Reads the data keys, or makes the first one. `needed` are the ids of those that the store needs: a key is made only
 * where none is needed, so that nothing is ever sealed beside a lost key. Throws `StartRefused` with what to do.
 */
export async function loadDataKeys(source: DataKeySource, needed: readonly string[]): Promise<DataKeys> {
  const { text, file, otherwise } = source;
  if (text !== undefined) return checked({ ...parsed(text, variable), isEphemeral: false, isNew: false }, needed);
  const content = await readKeyFile(file);
  if (content !== undefined) return checked({ ...parsed(content, file), isEphemeral: false, isNew: false }, needed);
  if (otherwise === 'ephemeral') {
    ephemeral ??= newDataKey();
    return checked({ ...parsed(ephemeral, 'this process'), isEphemeral: true, isNew: false }, needed);
  }
  if (needed.length > 0) {
    throw new StartRefused(
      `reading the data keys: ${file} is not there, and the secrets in the store are sealed with ${keyWords(needed)}; put the file back from where you keep its copy, or name it with --data-key-file. Nothing was changed`,
    );
  }
  if (otherwise === 'refuse') {
    throw new StartRefused(
      `reading the data keys: ${file} is not there; make one for all controllers with (umask 077; openssl rand -base64 32 > ${file}), and give each the same one`,
    );
  }
  const key = newDataKey();
  await writeKeyFile(file, `${fileHeader}${key}\n`);
  return { ...parsed(key, file), isEphemeral: false, isNew: true };
}

function parsed(text: string, origin: string): Pick<DataKeys, 'sealer' | 'origin'> {
  const keys = parseDataKeys(text);
  if (!keys.ok) throw new StartRefused(`reading the data keys: ${origin}: ${keys.error}. Nothing was changed`);
  return { sealer: createSealer(keys.value), origin };
}

/** The keys, if all that are needed are among them; throws `StartRefused` otherwise. */
export function checked(keys: DataKeys, needed: readonly string[]): DataKeys {
  const missing = needed.filter((id) => !keys.sealer.keyIds.has(id));
  if (missing.length === 0) return keys;
  throw new StartRefused(
    `reading the data keys: secrets in the store are sealed with ${keyWords(missing)}, which is not in ${keys.origin} (it has ${keyWords([...keys.sealer.keyIds])}); put it back there, above the last line. Nothing was changed`,
  );
}

function keyWords(ids: readonly string[]): string {
  return `data key${ids.length === 1 ? '' : 's'} ${ids.join(', ')}`;
}

/** The content; undefined when there is no such file. */
async function readKeyFile(file: string): Promise<string | undefined> {
  try {
    const { mode } = await stat(file);
    if ((mode & 0o077) !== 0) {
      throw new StartRefused(
        `reading the data keys: others may read ${file} (its mode is ${(mode & 0o777).toString(8).padStart(4, '0')}): chmod 600 ${file}`,
      );
    }
    return await readFile(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    if (error instanceof StartRefused) throw error;
    throw new StartRefused(`reading the data keys: ${file} cannot be read (${code})`, { cause: error });
  }
}

/** Whole or not at all, and on the disk before anything is sealed with it. */
async function writeKeyFile(file: string, content: string): Promise<void> {
  const made = `${file}.new`;
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    const handle = await open(made, constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC, 0o600);
    try {
      // One that a crash left may have another mode.
      await handle.chmod(0o600);
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(made, file);
    const folder = await open(dirname(file), 'r');
    await folder.sync().finally(() => folder.close());
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new StartRefused(`making the data keys: ${file} cannot be written (${code})`, { cause: error });
  }
}
