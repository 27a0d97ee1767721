/**
 * A process of its own with the embedded store open, for tests that kill it: `node sqlite-writer.ts FOLDER FIRST COUNT`
 * writes the entries FIRST … FIRST+COUNT-1, several at a time, and prints a line `NUMBER REVISION` for each as soon as
 * it is acknowledged. Prints `open` first, or `refused CODE` and ends; stays there when it is done.
 */
import { FairwayError } from '../../src/lib/errors.ts';
import { openSqliteStore, type Store } from '../../src/store/index.ts';

const writersAtOnce = 16;

/** What the writer writes as number `i`: between 100 bytes and 4 KiB, so that the WAL is emptied now and then. */
export function numberedEntry(i: number): { readonly key: string; readonly value: string } {
  return { key: `spec/${i}`, value: `${i}:`.padEnd(100 + ((i * 131) % 4000), 'x') };
}

async function write(store: Store, first: number, count: number): Promise<void> {
  let next = first;
  const writer = async (): Promise<void> => {
    while (next < first + count) {
      const i = next++;
      const outcome = await store.commit({ id: `write ${i}`, checks: [], puts: [numberedEntry(i)], deletes: [] });
      if (outcome.committed) print(`${i} ${outcome.revision}`);
    }
  };
  await Promise.all(Array.from({ length: writersAtOnce }, writer));
}

/** Synchronous for a pipe: what stands in it was acknowledged, whatever happens to this process next. */
function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

if (import.meta.main) {
  const [folder = '', first, count] = process.argv.slice(2);
  try {
    const store = await openSqliteStore({ folder });
    print('open');
    await write(store, Number(first), Number(count));
  } catch (error) {
    if (!(error instanceof FairwayError)) throw error;
    print(`refused ${error.code}`);
    process.exitCode = 1;
  }
}
