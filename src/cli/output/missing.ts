import type { Session } from '../session.ts';
import type { WireMissing } from '../wire.ts';
import { count, formatAge, printable } from './text.ts';

/** Says on standard error which controllers an answer lacks, whose proxies are not in it. */
export function noteMissing({ io, paint }: Session, missing: readonly WireMissing[] = []): void {
  for (const { controller, since, proxies = 0 } of missing) {
    const age = since === undefined ? '' : ` for ${formatAge(io.now() - Date.parse(since))}`;
    const last = count(proxies, 'proxy', 'proxies');
    const words = `${printable(controller)} has not answered${age}: ${last} that it had last are not in here`;
    io.err.write(`${paint('warning', words)}\n`);
  }
}
