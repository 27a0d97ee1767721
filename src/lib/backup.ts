import { createHash } from 'node:crypto';
import { FairwayError } from './errors.ts';

/**
 * The form of a backup: lines of JSON, each ended by a line feed.
 *
 * ```
 * {"fairwayBackup":1,"storeVersion":2,"revision":123,…}                           header
 * {"key":"spec/…","value":"…","createRevision":7,"modRevision":9}                 an entry, in the order of keys
 * …
 * {"entries":42,"sha256":"…"}                                                     trailer
 * ```
 *
 * All entries are of one revision. The checksum is of all bytes before the trailer, so that a backup without one is cut
 * off. Secrets in values are sealed as they are in the store; the header names the data keys that open them. Here, in
 * ring 0, since both who makes backups and who keeps them read this form.
 */

/** Grows when older programs could not read the form any more. */
export const backupVersion = 1;

export interface BackupHeader {
  readonly fairwayBackup: number;
  /** Version of the store that it was made of, see server/schema.ts. */
  readonly storeVersion: number;
  /** That the entries are of. */
  readonly revision: number;
  /** RFC 3339. */
  readonly createdAt: string;
  /** Ids of the data keys that something in it is sealed with. */
  readonly dataKeys: readonly string[];
  /** For people who look into the file. */
  readonly about: string;
}

export interface BackupEntry {
  readonly key: string;
  readonly value: string;
  readonly createRevision: number;
  readonly modRevision: number;
}

export interface BackupTrailer {
  readonly entries: number;
  /** Hexadecimal. */
  readonly sha256: string;
}

export const aboutBackups =
  'A backup of a Fairway store: this header, one entry a line in the order of keys, and a last line with their number and the SHA-256 of all bytes before it. Secrets are sealed with the data keys named here, which are not in this file. Restore it with "fairway restore FILE".';

/** The text of a backup, in pieces of a line or more. */
export async function* encodeBackup(
  header: Omit<BackupHeader, 'fairwayBackup' | 'about'>,
  entries: AsyncIterable<BackupEntry>,
): AsyncGenerator<string, void, undefined> {
  const sum = createHash('sha256');
  let count = 0;
  let piece = `${JSON.stringify({ fairwayBackup: backupVersion, ...header, about: aboutBackups } satisfies BackupHeader)}\n`;
  for await (const { key, value, createRevision, modRevision } of entries) {
    piece += `${JSON.stringify({ key, value, createRevision, modRevision } satisfies BackupEntry)}\n`;
    count += 1;
    if (piece.length < pieceLength) continue;
    sum.update(piece);
    yield piece;
    piece = '';
  }
  sum.update(piece);
  const trailer = { entries: count, sha256: sum.digest('hex') } satisfies BackupTrailer;
  yield `${piece}${JSON.stringify(trailer)}\n`;
}

const pieceLength = 64 * 1024;

/** Of a line: a value of the store as JSON in JSON, and its key, with room to spare. */
const maxLineBytes = 4 * 1024 * 1024;

export interface BackupReader {
  readonly header: BackupHeader;
  /** Ends after the trailer was found to be right, else throws: who has read them all knows that the backup is whole. */
  readonly entries: AsyncGenerator<BackupEntry, void, undefined>;
}

/**
 * Reads a backup, with no more of it in memory than a line. Throws `FairwayError` `InvalidBackup` for what is no backup,
 * is of a newer form, or was damaged or cut off; never with a part of what is in it.
 */
export async function readBackup(chunks: AsyncIterable<Uint8Array>): Promise<BackupReader> {
  const sum = createHash('sha256');
  const lines = readLines(chunks);
  const first = await lines.next();
  const header = first.done === true ? undefined : parseObject(first.value);
  if (first.done === true || header === undefined || typeof header['fairwayBackup'] !== 'number') {
    throw invalidBackup('it is not the backup of a Fairway store');
  }
  if (header['fairwayBackup'] > backupVersion) {
    throw invalidBackup(
      `it has form ${header['fairwayBackup']}, made by a newer Fairway; this one reads forms up to ${backupVersion}`,
    );
  }
  if (!isHeader(header)) throw invalidBackup('its header is damaged');
  sum.update(first.value);
  return { header, entries: readEntries(lines, sum) };
}

async function* readEntries(
  lines: AsyncGenerator<Buffer, void, undefined>,
  sum: ReturnType<typeof createHash>,
): AsyncGenerator<BackupEntry, void, undefined> {
  let count = 0;
  for await (const line of lines) {
    const value = parseObject(line);
    if (value !== undefined && isTrailer(value)) {
      if (value.entries !== count || value.sha256 !== sum.digest('hex')) {
        throw invalidBackup('its checksum is wrong, so it was damaged');
      }
      if ((await lines.next()).done !== true) throw invalidBackup('something was added behind its end');
      return;
    }
    if (value === undefined || !isEntry(value)) throw invalidBackup(`it is damaged in line ${count + 2}`);
    sum.update(line);
    count += 1;
    yield value;
  }
  throw invalidBackup(`it is cut off after ${count} entries`);
}

export function invalidBackup(fault: string, cause?: unknown): FairwayError {
  return new FairwayError('InvalidBackup', `reading the backup: ${fault}`, cause === undefined ? {} : { cause });
}

/** Lines with their line feeds; what follows the last one is a line too, so that a cut is seen as damage. */
async function* readLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, void, undefined> {
  let parts: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    let rest = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    for (let end = rest.indexOf(0x0a); end >= 0; end = rest.indexOf(0x0a)) {
      const line = rest.subarray(0, end + 1);
      yield parts.length === 0 ? line : Buffer.concat([...parts, line]);
      parts = [];
      length = 0;
      rest = rest.subarray(end + 1);
    }
    if (rest.length === 0) continue;
    // Copied: whoever gives the chunks may use their memory again.
    parts.push(Buffer.from(rest));
    length += rest.length;
    if (length > maxLineBytes) throw invalidBackup(`it has a line of more than ${maxLineBytes} bytes`);
  }
  if (parts.length > 0) yield Buffer.concat(parts);
}

type Json = Readonly<Record<string, unknown>>;

function parseObject(line: Buffer): Json | undefined {
  // Without its line feed it was cut off.
  if (line.at(-1) !== 0x0a) return undefined;
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(line));
    return typeof value === 'object' && value !== null ? (value as Json) : undefined;
  } catch {
    return undefined;
  }
}

function isHeader(value: Json): value is Json & BackupHeader {
  const { storeVersion, revision, createdAt, dataKeys } = value;
  return (
    isCount(storeVersion) &&
    isCount(revision) &&
    typeof createdAt === 'string' &&
    Array.isArray(dataKeys) &&
    dataKeys.every((id) => typeof id === 'string' && /^[0-9a-f]{16}$/.test(id))
  );
}

function isEntry(value: Json): value is Json & BackupEntry {
  const { key, value: text, createRevision, modRevision } = value;
  return typeof key === 'string' && typeof text === 'string' && isCount(createRevision) && isCount(modRevision);
}

function isTrailer(value: Json): value is Json & BackupTrailer {
  return isCount(value['entries']) && typeof value['sha256'] === 'string';
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
