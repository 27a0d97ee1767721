import { nearest } from '../lib/nearest.ts';
import { type Kind, kindNames, namesOfKinds } from '../model/kind.ts';
import { didYouMean, usageError } from './failure.ts';

/** What people may call a kind. Upper and lower case are the same. */
export function kindWords(kind: Kind): readonly string[] {
  const { plural, shortNames } = namesOfKinds[kind];
  // `pools` and `certs` too, but an abbreviation such as `vs` has no plural.
  const words = shortNames.filter((name) => name.length > 2).map((name) => `${name}s`);
  return [plural, ...shortNames, ...words, singular(kind), kind.toLowerCase(), plural.replaceAll('-', '')];
}

/** `virtual-service`: stands before the name of an object in output, as `virtual-service/shop`. */
export function singular(kind: string): string {
  return kind.replace(/(?<=[a-z])(?=[A-Z])/g, '-').toLowerCase();
}

/** The kind that a word of the command line means. */
export function resolveKind(word: string): Kind {
  const wanted = word.toLowerCase();
  const kind = kindNames.find((kind) => kindWords(kind).includes(wanted));
  if (kind !== undefined) return kind;
  const near = nearest(
    word,
    kindNames.flatMap((kind) => kindWords(kind)),
  );
  const all = kindNames.map((kind) => [namesOfKinds[kind].plural, ...namesOfKinds[kind].shortNames].join('/'));
  throw usageError(`There is no kind "${word}"`, didYouMean(near) ?? `There are ${all.join(', ')}.`);
}

/** An object as the command line names it. `name` undefined: all of the kind. */
export interface Target {
  readonly kind: Kind;
  readonly name: string | undefined;
}

/**
 * Reads `KIND[,KIND] [NAME…]` and `KIND/NAME …`, as kubectl does.
 */
export function parseTargets(words: readonly string[]): Target[] {
  const [first, ...names] = words;
  if (first === undefined) throw usageError('Which kind?', 'For instance: fairway get virtual-services');
  if (words.some((word) => word.includes('/'))) {
    return words.map((word) => {
      const [kind, name, ...rest] = word.split('/');
      if (kind === undefined || !name || rest.length > 0) {
        throw usageError(
          `"${word}" is not KIND/NAME`,
          'Write all objects as KIND/NAME, or one kind and then the names.',
        );
      }
      return { kind: resolveKind(kind), name };
    });
  }
  const kinds = first.split(',').map(resolveKind);
  if (names.length === 0) return kinds.map((kind) => ({ kind, name: undefined }));
  return kinds.flatMap((kind) => names.map((name) => ({ kind, name })));
}
