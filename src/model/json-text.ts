import { err, ok, type Result } from '../lib/result.ts';

/**
 * A strict reader of JSON (RFC 8259). `JSON.parse` would keep the last of two equal keys and drop the first silently,
 * and it names a position only in the words of the engine.
 */

export interface TextFault {
  /** Index into the text. */
  readonly offset: number;
  readonly message: string;
}

/** The value of a text, or the first fault. `maxDepth`: nesting of objects and lists. */
export function readJson(text: string, maxDepth: number): Result<unknown, TextFault> {
  const reader = new JsonReader(text, maxDepth);
  const value = reader.document();
  return reader.fault === undefined ? ok(value) : err(reader.fault);
}

const number = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?/y;
// A run of characters that need no attention, within a string.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters end it
const plain = /[^"\\\u0000-\u001f]*/y;
const blank = /[ \t\n\r]*/y;
const escapes: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

/** Recursive descent. The first fault moves to the end of the text, where everything stops. */
class JsonReader {
  fault: TextFault | undefined;
  readonly #text: string;
  readonly #maxDepth: number;
  #at = 0;

  constructor(text: string, maxDepth: number) {
    this.#text = text;
    this.#maxDepth = maxDepth;
  }

  document(): unknown {
    const value = this.#value(0);
    this.#blanks();
    if (this.#at < this.#text.length) this.#fail('there is more text after the end of the value');
    return value;
  }

  #value(depth: number): unknown {
    this.#blanks();
    const character = this.#text[this.#at];
    if (character === undefined) return this.#fail('a value is missing');
    if (character === '{' || character === '[') {
      if (depth >= this.#maxDepth) return this.#fail(`nested deeper than ${this.#maxDepth} levels`);
      this.#at++;
      return character === '{' ? this.#object(depth + 1) : this.#array(depth + 1);
    }
    if (character === '"') return this.#string();
    for (const [word, value] of [
      ['true', true],
      ['false', false],
      ['null', null],
    ] as const) {
      if (this.#text.startsWith(word, this.#at)) {
        this.#at += word.length;
        return value;
      }
    }
    const digits = this.#match(number);
    return digits === '' ? this.#fail(`${JSON.stringify(character)} does not begin a value`) : Number(digits);
  }

  #object(depth: number): unknown {
    const entries = new Map<string, unknown>();
    if (this.#take('}')) return {};
    do {
      this.#blanks();
      const start = this.#at;
      if (this.#text[start] !== '"') return this.#fail('a key in double quotes is missing');
      const key = this.#string();
      if (entries.has(key)) return this.#fail(`the key ${JSON.stringify(key)} is there twice`, start);
      if (!this.#take(':')) return this.#fail('`:` is missing after a key');
      entries.set(key, this.#value(depth));
    } while (this.#take(','));
    if (!this.#take('}')) return this.#fail('`,` or `}` is missing');
    // `fromEntries` makes an own property of `__proto__` too.
    return Object.fromEntries(entries);
  }

  #array(depth: number): unknown {
    const items: unknown[] = [];
    if (this.#take(']')) return items;
    do items.push(this.#value(depth));
    while (this.#take(','));
    return this.#take(']') ? items : this.#fail('`,` or `]` is missing');
  }

  #string(): string {
    const start = this.#at++;
    let value = '';
    for (;;) {
      value += this.#match(plain);
      const character = this.#text[this.#at++];
      if (character === '"') return value;
      if (character === undefined) return this.#failString('the text in quotes has no end', start);
      if (character !== '\\') return this.#failString('a control character in a text must be escaped', this.#at - 1);
      value += this.#escape();
      if (this.fault !== undefined) return '';
    }
  }

  #escape(): string {
    const start = this.#at - 1;
    const character = this.#text[this.#at++] ?? '';
    if (character === 'u') {
      const digits = this.#text.slice(this.#at, this.#at + 4);
      if (!/^[0-9a-fA-F]{4}$/.test(digits)) return this.#failString('`\\u` needs four hexadecimal digits', start);
      this.#at += 4;
      return String.fromCharCode(Number.parseInt(digits, 16));
    }
    return escapes[character] ?? this.#failString('this escape does not exist', start);
  }

  #blanks(): void {
    this.#match(blank);
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const matched = pattern.exec(this.#text)?.[0] ?? '';
    this.#at += matched.length;
    return matched;
  }

  #take(character: string): boolean {
    this.#blanks();
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #fail(message: string, offset: number = this.#at): undefined {
    this.fault ??= { offset, message };
    this.#at = this.#text.length;
    return undefined;
  }

  #failString(message: string, offset: number): string {
    this.#fail(message, offset);
    return '';
  }
}
