import { stripVTControlCharacters } from 'node:util';

/** What a terminal would act upon instead of showing it: control characters and the marks that turn text around. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is meant
const unprintable = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Text of others made safe for a terminal. Line breaks and tabs stay. */
export function printable(text: string): string {
  return stripVTControlCharacters(text).replace(unprintable, '');
}

/** The same on one line. */
export function oneLine(text: string): string {
  return printable(text.replace(/\s+/g, ' ')).trim();
}

/** Takes two cells of a terminal: East Asian wide characters and emoji. */
const wide =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u;
const zeroWidth = /\p{Mn}|\p{Me}|[\u200b-\u200d]|\ufe0f/u;

/** Cells of a terminal that a character takes. */
function charWidth(char: string): number {
  if (char < '\u0300') return 1;
  if (zeroWidth.test(char)) return 0;
  return wide.test(char) ? 2 : 1;
}

/** Cells of a terminal that text without colours takes. */
export function textWidth(text: string): number {
  let width = 0;
  for (const char of text) width += charWidth(char);
  return width;
}

/** At most `width` cells of the text, with `…` at the end when something was left out. */
export function truncate(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  let kept = '';
  let used = 1; // of the dots
  for (const char of text) {
    used += charWidth(char);
    if (used > width) break;
    kept += char;
  }
  return `${kept.trimEnd()}…`;
}

/** Breaks text between words so that no line takes more than `width` cells, unless a single word does. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/).filter((word) => word !== '')) {
    if (line !== '' && textWidth(line) + 1 + textWidth(word) > width) {
      lines.push(line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  return line === '' ? lines : [...lines, line];
}

/** `2 objects`, `1 object`. */
export function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}

const secondMs = 1000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** How long ago, with the precision that matters: `45s`, `3m20s`, `12h`, `5d`. */
export function formatAge(ms: number): string {
  if (ms < 2 * minuteMs) return `${Math.max(0, Math.floor(ms / secondMs))}s`;
  if (ms < 10 * minuteMs) return two(ms, minuteMs, 'm', secondMs, 's');
  if (ms < 3 * hourMs) return `${Math.floor(ms / minuteMs)}m`;
  if (ms < 8 * hourMs) return two(ms, hourMs, 'h', minuteMs, 'm');
  if (ms < 2 * dayMs) return `${Math.floor(ms / hourMs)}h`;
  if (ms < 8 * dayMs) return two(ms, dayMs, 'd', hourMs, 'h');
  return `${Math.floor(ms / dayMs)}d`;
}

function two(ms: number, bigMs: number, big: string, smallMs: number, small: string): string {
  const rest = Math.floor((ms % bigMs) / smallMs);
  return `${Math.floor(ms / bigMs)}${big}${rest === 0 ? '' : `${rest}${small}`}`;
}
