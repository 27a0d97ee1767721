import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/**
 * Databases that earlier versions of Fairway left behind, row by row as they wrote them, after the same short life with a
 * real Envoy: Certificate `shop-tls` was replaced once (p256, then p384), Certificate `gone` (p521) was deleted,
 * BackendPool `web` is held back in its generation 1, since Envoy refused generation 2.
 */
export const formerStores = ['pins-without-uid', 'pins-by-object', 'searches'] as const;

/** Makes the database of a former store in a folder. */
export function makeFormerStore(name: (typeof formerStores)[number], folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const db = new DatabaseSync(join(folder, 'fairway.db'));
  db.exec(`BEGIN; ${readFileSync(new URL(`${name}.sql`, import.meta.url), 'utf8')} COMMIT;`);
  db.close();
}
