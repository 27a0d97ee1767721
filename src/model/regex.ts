import { err, ok, type Result } from '../lib/result.ts';

/**
 * A reader of regular expressions in the dialect of RE2, which Envoy uses: JavaScript's own `RegExp` accepts what RE2
 * refuses and the other way round. It takes a subset of RE2 (https://github.com/google/re2/wiki/Syntax) in which no
 * expression can surprise: ASCII only, no `\p{…}`, no `\C`, no octal numbers.
 *
 * It also estimates from above how many instructions RE2 compiles the expression to, because Envoy refuses programs
 * above `re2.max_program_size.error_level`; the bootstrap sets that to `maxRegexProgram`.
 */

/** Upper bound of the program size of an accepted expression, in RE2 instructions. */
export const maxRegexProgram = 5000;

export interface RegexFacts {
  /** Number of capturing groups. */
  readonly groups: number;
  /** Upper bound of RE2's program size. */
  readonly program: number;
}

/** Facts of an accepted expression, or what is wrong with it and where. */
export function inspectRegex(text: string): Result<RegexFacts, string> {
  const reader = new RegexReader(text);
  const program = programOverhead + reader.alternation(0).program;
  reader.end();
  if (reader.fault !== undefined) return err(reader.fault);
  if (program > maxRegexProgram) {
    return err(`the expression is too large: about ${program} instructions, at most ${maxRegexProgram} are allowed`);
  }
  return ok({ groups: reader.groups, program });
}

/** What is known of a part of an expression: instructions, and the largest product of nested counts in it. */
interface Part {
  readonly program: number;
  readonly repeats: number;
  /** A place between characters, such as `^` or `\b`: there is nothing to repeat in it. */
  readonly isBorder?: true;
}

const emptyPart: Part = { program: 1, repeats: 1 };
const border: Part = { ...emptyPart, isBorder: true };

/** What RE2 puts around every program: the search for a start, the match, the failure. */
const programOverhead = 5;
/** RE2 refuses counts above 1000, also as the product of nested ones. */
const maxRepeat = 1000;
/** RE2 refuses deeper nesting than 1000; nobody writes this much. */
const maxDepth = 50;
/** `.` and negated classes match any character beyond ASCII too, which takes RE2 this many instructions or less. */
const anyCharacterProgram = 20;

const posixClasses = new Set(
  'alnum alpha ascii blank cntrl digit graph lower print punct space upper word xdigit'.split(' '),
);

/** Recursive descent over the text. The first fault ends it: `fail` moves to the end, where every loop stops. */
class RegexReader {
  groups = 0;
  fault: string | undefined;
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  alternation(depth: number): Part {
    let program = 0;
    let repeats = 1;
    for (;;) {
      const branch = this.#concatenation(depth);
      program += branch.program + 1;
      repeats = Math.max(repeats, branch.repeats);
      if (!this.#take('|')) return { program, repeats };
    }
  }

  /** What is left after the outermost alternation can only be a `)` without its `(`. */
  end(): void {
    if (this.#at < this.#text.length) this.#fail('`)` without `(`');
  }

  #concatenation(depth: number): Part {
    let program = 0;
    let repeats = 1;
    while (this.#at < this.#text.length && this.#peek() !== '|' && this.#peek() !== ')') {
      const part = this.#repetition(this.#atom(depth));
      program += part.program;
      repeats = Math.max(repeats, part.repeats);
    }
    return { program, repeats };
  }

  #repetition(atom: Part): Part {
    const start = this.#at;
    const counts = this.#counts();
    if (counts === undefined) return atom;
    if (atom.isBorder) return this.#fail(`\`${this.#text[start]}\` has nothing before it to repeat`, start);
    this.#take('?');
    if (this.#counts() !== undefined) this.#fail('two repetitions in a row; put the first into a group');
    const [min, max] = counts;
    if (max !== undefined && min > max) this.#fail(`the repetition {${min},${max}} is reversed`);
    const most = Math.max(min, max ?? 0, 1);
    const repeats = atom.repeats * most;
    if (repeats > maxRepeat) this.#fail(`repetitions of more than ${maxRepeat}, nested ones multiplied`);
    return { program: (atom.program + 1) * (max === undefined ? min + 1 : most) + 1, repeats };
  }

  /** The repetition operator here, taken; `max` undefined is "any number". */
  #counts(): readonly [min: number, max: number | undefined] | undefined {
    if (this.#take('*')) return [0, undefined];
    if (this.#take('+')) return [1, undefined];
    if (this.#take('?')) return [0, 1];
    // A brace that is no repetition is an ordinary character, in RE2 too.
    const braces = /^\{([0-9]{1,9})(,([0-9]{0,9}))?\}/.exec(this.#text.slice(this.#at, this.#at + 24));
    if (braces === null) return undefined;
    this.#at += braces[0].length;
    const min = Number(braces[1]);
    if (braces[2] === undefined) return [min, min];
    return braces[3] === '' ? [min, undefined] : [min, Number(braces[3])];
  }

  #atom(depth: number): Part {
    const start = this.#at;
    if (this.#counts() !== undefined) {
      return this.#fail(`\`${this.#text[start]}\` has nothing before it to repeat`, start);
    }
    const character = this.#next();
    switch (character) {
      case '(':
        return this.#group(depth + 1, start);
      case '[':
        return this.#class(start);
      case '\\':
        return this.#escape(start);
      case '^':
      case '$':
        return border;
      case '.':
        return { program: anyCharacterProgram, repeats: 1 };
      default:
        return this.#literal(character, start);
    }
  }

  #literal(character: string, start: number): Part {
    if (character > '~' || character < ' ') {
      return this.#fail('only printable ASCII characters are accepted; a path holds others percent-encoded', start);
    }
    return emptyPart;
  }

  #group(depth: number, start: number): Part {
    if (depth > maxDepth) return this.#fail(`groups nested deeper than ${maxDepth}`, start);
    if (this.#take('?')) {
      const opening = this.#groupOpening(start);
      if (opening === 'flags') {
        if (this.#counts() !== undefined) return this.#fail('flags cannot be repeated', start);
        return emptyPart;
      }
    } else {
      this.groups++;
    }
    const inner = this.alternation(depth);
    if (!this.#take(')')) return this.#fail('`(` without `)`', start);
    return { program: inner.program + 2, repeats: inner.repeats };
  }

  /** After `(?`: whether a group follows, or these were flags alone. */
  #groupOpening(start: number): 'group' | 'flags' {
    for (const look of ['=', '!', '<=', '<!']) {
      if (this.#text.startsWith(look, this.#at)) {
        this.#fail(`look-around \`(?${look}\` does not exist in RE2; match the whole value positively`, start);
        return 'flags';
      }
    }
    if (this.#text.startsWith('P=', this.#at)) {
      this.#fail('back-references do not exist in RE2', start);
      return 'flags';
    }
    const named = /^P?<([A-Za-z_][A-Za-z0-9_]*)>/.exec(this.#text.slice(this.#at));
    if (named !== null) {
      this.#at += named[0].length;
      this.groups++;
      return 'group';
    }
    const flags = /^([imsU]*(?:-[imsU]+)?)([:)])/.exec(this.#text.slice(this.#at));
    if (flags === null || (flags[1] === '' && flags[2] === ')')) {
      this.#fail('`(?` does not begin anything that RE2 knows', start);
      return 'flags';
    }
    this.#at += flags[0].length;
    return flags[2] === ':' ? 'group' : 'flags';
  }

  #class(start: number): Part {
    const negated = this.#take('^');
    let ranges = 0;
    let isFirst = true;
    // A `]` in the first place is an ordinary character.
    while (this.#at < this.#text.length && (isFirst || this.#peek() !== ']')) {
      ranges += this.#classItem();
      isFirst = false;
    }
    if (!this.#take(']')) return this.#fail('`[` without `]`', start);
    return { program: 2 * ranges + (negated ? anyCharacterProgram : 0), repeats: 1 };
  }

  /** One member of a class; gives the number of character ranges it may stand for. */
  #classItem(): number {
    const start = this.#at;
    const posix = /^\[:\^?([a-z]*):\]/.exec(this.#text.slice(start, start + 16));
    if (posix !== null) {
      if (!posixClasses.has(posix[1] ?? '')) this.#fail(`there is no class \`${posix[0]}\``, start);
      this.#at += posix[0].length;
      return 8;
    }
    const from = this.#classCharacter();
    // Before `]` a dash is an ordinary character.
    if (this.#peek() !== '-' || this.#text[this.#at + 1] === ']') return from === undefined ? anyCharacterProgram : 2;
    this.#at++;
    const to = this.#classCharacter();
    if (this.fault === undefined && (from === undefined || to === undefined || from > to)) {
      this.#fail(`the range \`${this.#text.slice(start, this.#at)}\` is not valid`, start);
    }
    // With the flag `i` a range has a twin.
    return 2;
  }

  /** Code of a single character in a class, or undefined for one that stands for several, such as `\d`. */
  #classCharacter(): number | undefined {
    const start = this.#at;
    const character = this.#next();
    if (character !== '\\') {
      this.#literal(character, start);
      return character.charCodeAt(0);
    }
    const escaped = this.#peek();
    if (/[bBAz]/.test(escaped)) {
      this.#fail(`\`\\${escaped}\` has no meaning in a class`, start);
      return undefined;
    }
    return this.#escapedCode(start);
  }

  #escape(start: number): Part {
    const escaped = this.#peek();
    if (/^[bBAz]$/.test(escaped)) {
      this.#at++;
      return border;
    }
    if (escaped === 'Q') return this.#quotation();
    const code = this.#escapedCode(start);
    return { program: code === undefined ? 2 * anyCharacterProgram : 1, repeats: 1 };
  }

  /** `\Q…\E`: everything between is literal. */
  #quotation(): Part {
    this.#at++;
    const end = this.#text.indexOf('\\E', this.#at);
    const quoted = this.#text.slice(this.#at, end < 0 ? undefined : end);
    const start = this.#at;
    this.#at = end < 0 ? this.#text.length : end + 2;
    if (quoted === '') return this.#fail('nothing is quoted by `\\Q`', start);
    for (const character of quoted) this.#literal(character, start);
    return { program: quoted.length + 1, repeats: 1 };
  }

  /** After a backslash: the code of the one character meant, undefined for a class such as `\d`. */
  #escapedCode(start: number): number | undefined {
    const escaped = this.#next();
    if (/^[dDsSwW]$/.test(escaped)) return undefined;
    const control = 'aftnrv'.indexOf(escaped);
    if (escaped !== '' && control >= 0) return [7, 12, 9, 10, 13, 11][control];
    if (escaped === 'x') {
      const hex = /^([0-9A-Fa-f]{2}|\{[0-9A-Fa-f]{1,6}\})/.exec(this.#text.slice(this.#at, this.#at + 8));
      const code = Number.parseInt(hex?.[0].replaceAll(/[{}]/g, '') ?? '', 16);
      if (hex === null || code > 0x7f) {
        this.#fail('`\\x` needs two hexadecimal digits of an ASCII character', start);
        return undefined;
      }
      this.#at += hex[0].length;
      return code;
    }
    if (escaped === '') this.#fail('a `\\` at the end', start);
    else if (/^[1-9]$/.test(escaped) || escaped === 'k') this.#fail('back-references do not exist in RE2', start);
    else if (/^[pP]$/.test(escaped)) this.#fail(`\`\\${escaped}\` is not accepted; list the characters`, start);
    else if (/^[A-Za-z0-9]$/.test(escaped)) this.#fail(`\`\\${escaped}\` is not known to RE2`, start);
    else this.#literal(escaped, start);
    return escaped.charCodeAt(0);
  }

  #peek(): string {
    return this.#text[this.#at] ?? '';
  }

  #next(): string {
    return this.#text[this.#at++] ?? '';
  }

  #take(character: string): boolean {
    if (this.#peek() !== character) return false;
    this.#at++;
    return true;
  }

  #fail(message: string, position: number = this.#at): Part {
    this.fault ??= `${message} (character ${position + 1})`;
    this.#at = this.#text.length;
    return emptyPart;
  }
}
