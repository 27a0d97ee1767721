import { styleText } from 'node:util';
import type { Io, Output } from '../io.ts';

/** What a piece of text means; how that looks is decided here alone. */
export type Tone = 'good' | 'bad' | 'warning' | 'faint' | 'strong' | 'accent' | 'plain';

export type Paint = (tone: Tone, text: string) => string;

const looks = {
  good: 'green',
  bad: 'red',
  warning: 'yellow',
  faint: 'dim',
  strong: 'bold',
  accent: 'cyan',
} as const;

/** Gives text its colour, or leaves it alone: off a terminal, on a dumb one, and where `NO_COLOR` is set. */
export function createPaint(output: Output, env: Io['env']): Paint {
  // https://no-color.org: present and not empty, whatever its value.
  if (!output.isTerminal || (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb') return (_tone, text) => text;
  return (tone, text) => (tone === 'plain' ? text : styleText(looks[tone], text, { validateStream: false }));
}
