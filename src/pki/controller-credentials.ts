import { createPrivateKey, createPublicKey } from 'node:crypto';
import { createLatest } from '../lib/latest.ts';
import type { LiveTls, TlsMaterial } from '../lib/tls-files.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Authority } from './authority.ts';
import { type ControllerSubject, createKey, endOf, issueToController } from './certificates.ts';

export interface ControllerCredentialsOptions {
  readonly authority: Authority;
  readonly hosts: ControllerSubject['hosts'];
  readonly lifeMs: number;
  readonly now: () => number;
  readonly log: Logger;
}

export interface ControllerCredentials extends LiveTls {
  close(): Promise<void>;
}

/** setTimeout fires at once for longer delays. */
const maxTimerMs = 2 ** 31 - 1;

/**
 * A controller's own certificate from the authority of the installation: made at the start, its key never leaves the
 * process. It is made anew at two thirds of its life, and whenever what signs changes: one that ends only because what
 * signs does would be the same again.
 */
export async function createControllerCredentials(
  options: ControllerCredentialsOptions,
): Promise<ControllerCredentials> {
  const { authority, hosts, lifeMs, now, log } = options;
  const listeners = new Set<(material: TlsMaterial) => void>();
  let timer: NodeJS.Timeout | undefined;
  let renewInMs = Number.POSITIVE_INFINITY;
  let material = await make();

  async function make(): Promise<TlsMaterial> {
    const { record, serving, bundle } = authority.state;
    const key = createKey();
    const publicKey = createPublicKey(createPrivateKey(key));
    const { trustDomain } = record;
    const at = now();
    const issued = await issueToController(serving, publicKey, { trustDomain, hosts }, { now: at, lifeMs });
    renewInMs = at + lifeMs > endOf(serving) ? Number.POSITIVE_INFINITY : (lifeMs * 2) / 3;
    return { cert: issued.certificate, key, ca: bundle };
  }

  const latest = createLatest({
    holdOffMs: 0,
    async task() {
      material = await make();
      log.info({ event: 'controller_certificate_issued', root: authority.state.serving.id });
      for (const listener of listeners) listener(material);
      schedule();
    },
    onError: (error) => log.error({ event: 'controller_certificate_failed', err: error }),
  });

  function schedule(): void {
    clearTimeout(timer);
    if (renewInMs === Number.POSITIVE_INFINITY) return;
    timer = setTimeout(() => latest.nudge(), Math.min(renewInMs, maxTimerMs));
    timer.unref();
  }

  schedule();
  const unfollow = authority.onChange(() => latest.nudge());
  return {
    get current() {
      return material;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    async close() {
      unfollow();
      clearTimeout(timer);
      await latest.close();
    },
  };
}
