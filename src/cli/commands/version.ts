import type { Command } from 'commander';
import { envoyVersion } from '../../lib/envoy-binary.js';
import { type Session, version } from '../session.ts';

export function define(command: Command, { io }: Session): void {
  command.action(() => {
    io.out.write(`fairway ${version()} (Envoy ${envoyVersion}, Node ${process.versions.node})\n`);
  });
}
