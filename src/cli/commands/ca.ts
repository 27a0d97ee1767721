import type { Command } from 'commander';
import { examples } from '../selection.ts';
import type { Session } from '../session.ts';

interface WireRotation {
  readonly state: 'Steady' | 'Spreading' | 'Serving';
  readonly waitingFor: { readonly count: number; readonly nodes: readonly string[] };
}

export function define(command: Command, session: Session): void {
  command
    .command('show')
    .description('print the certificates of the roots whose signatures count, PEM')
    .action(() => show(session));
  command
    .command('rotate')
    .description('begin to replace the root: nodes go over to the new one as they renew their certificates')
    .action(() => rotation(session, 'POST'));
  command
    .command('rotation')
    .description('show how far the replacement of the root is')
    .action(() => rotation(session, 'GET'));
  examples(command, ['fairway ca show > ca.pem', 'fairway ca rotate', 'fairway ca rotation']);
}

async function show(session: Session): Promise<void> {
  const client = await session.client();
  const { certificates } = (await client.request('GET', '/v1/ca')) as { readonly certificates: string };
  session.io.out.write(certificates);
}

async function rotation(session: Session, method: 'GET' | 'POST'): Promise<void> {
  const client = await session.client();
  const { state, waitingFor } = (await client.request(method, '/v1/ca/rotation')) as WireRotation;
  const { count, nodes } = waitingFor;
  const more = count > nodes.length ? ` and ${count - nodes.length} more` : '';
  const words = {
    Steady: 'There is one root, and nothing rotates.',
    Spreading:
      count === 0
        ? 'Both roots are trusted, and the new one signs for nodes.'
        : `Both roots are trusted, and the new one signs for nodes. These still have certificates of the old one: ${nodes.join(', ')}${more}.`,
    Serving: 'Nodes and controllers have certificates of the new root; the old one goes in a moment.',
  };
  session.io.out.write(`${words[state]}\n`);
}
