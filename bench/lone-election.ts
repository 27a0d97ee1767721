/**
 * How fast a lone election on etcd hands over: two processes run for it by the election of the client library, with a
 * lease as long as that of Fairway's leader and nothing else to do, and the one that leads is killed.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Etcd3 } from 'etcd3';
import type { EtcdCluster } from '../test/support/etcd.ts';
import { until } from '../test/support/until.ts';

/** As src/store/etcd-election.ts has it. */
const leaseSeconds = 3;

/** Milliseconds from the kill of the leader until the other one leads. */
export async function handOverMs({ urls, client }: EtcdCluster): Promise<number> {
  const name = `lone-${process.pid}-${Date.now()}`;
  const first = runFor(name, 'first', urls);
  try {
    await first.elected;
    const second = runFor(name, 'second', urls);
    try {
      const inLine = () => client.getAll().prefix(`election/${name}/`).count();
      await until('the second one to stand in line', async () => (await inLine()) === 2);
      const killedAt = performance.now();
      first.kill();
      await second.elected;
      return performance.now() - killedAt;
    } finally {
      second.kill();
    }
  } finally {
    first.kill();
  }
}

function runFor(election: string, candidate: string, urls: readonly string[]) {
  const child = fork(fileURLToPath(import.meta.url), ['run', election, candidate, ...urls]);
  const gone = once(child, 'exit').then(() => Promise.reject(new Error(`${candidate} of the lone election has ended`)));
  const elected = Promise.race([once(child, 'message'), gone]);
  // The one that is killed ends as well.
  elected.catch(() => undefined);
  return { elected, kill: () => void child.kill('SIGKILL') };
}

const [mode, election = '', candidate = '', ...hosts] = process.argv.slice(2);
if (mode === 'run') {
  const campaign = new Etcd3({ hosts }).election(election, leaseSeconds).campaign(candidate);
  campaign.on('elected', () => process.send?.('elected'));
  process.on('disconnect', () => process.exit(0));
}
