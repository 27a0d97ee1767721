import { formatDuration } from '../lib/duration.ts';
import type { FieldError } from '../lib/errors.ts';
import { duplicates } from './duplicates.ts';
import { pointerTo } from './ref.ts';
import { inspectRegex } from './regex.ts';
import { type Action, actionTimeouts, effectiveRetry, type HeaderEdits, type Rewrite, type Rule } from './rule.ts';

/** What a schema cannot say about HTTP rules: fields that need or exclude each other. */

/** `pointer` is that of the list. */
export function checkRules(rules: readonly Rule[], pointer: string): readonly FieldError[] {
  return [
    ...duplicates(rules, pointer, '/name', (rule) => rule.name),
    ...rules.flatMap((rule, i) =>
      checkAction(rule.action, pointer + pointerTo(i, 'action'), matchesByPrefix(rule) ? 'prefix' : 'other'),
    ),
  ];
}

/** Whether every match says which prefix there is to replace; no path at all is the prefix `/`. */
function matchesByPrefix(rule: Rule): boolean {
  return (rule.match ?? []).every(({ path }) => path === undefined || path.prefix !== undefined);
}

/** `matchedBy`: what the path of a request was matched by before it comes to the action. */
export function checkAction(action: Action, pointer: string, matchedBy: 'prefix' | 'other'): readonly FieldError[] {
  return [
    ...checkForwardOnly(action, pointer),
    ...(action.forward === undefined
      ? []
      : duplicates(action.forward, `${pointer}/forward`, '/pool', (target) => target.pool)),
    ...checkRedirect(action, pointer, matchedBy),
    ...checkRespond(action, pointer),
    ...(action.rewrite === undefined ? [] : checkRewrite(action.rewrite, `${pointer}/rewrite`, matchedBy)),
    ...checkRetry(action, pointer),
    ...checkHeaderEdits(action.headers?.request ?? {}, `${pointer}/headers/request`),
    ...checkHeaderEdits(action.headers?.response ?? {}, `${pointer}/headers/response`),
  ];
}

function checkForwardOnly(action: Action, pointer: string): readonly FieldError[] {
  if (action.forward !== undefined) return [];
  const message = 'goes only with `forward`: no request reaches a backend here';
  const fields = (['rewrite', 'timeout', 'idleTimeout', 'retry', 'websocket'] as const)
    .filter((field) => action[field] !== undefined)
    .map((field) => ({ pointer: `${pointer}/${field}`, message }));
  return action.headers?.request === undefined
    ? fields
    : [...fields, { pointer: `${pointer}/headers/request`, message }];
}

const prefixMessage = 'replaces the matched prefix, so each match of the rule must match its path by `prefix`';

function checkRedirect(action: Action, pointer: string, matchedBy: 'prefix' | 'other'): readonly FieldError[] {
  const { redirect } = action;
  if (redirect === undefined) return [];
  const at = `${pointer}/redirect`;
  const { scheme, host, port, path, prefix } = redirect;
  if ([scheme, host, port, path, prefix].every((part) => part === undefined)) {
    return [{ pointer: at, message: 'must change something: give `scheme`, `host`, `port`, `path` or `prefix`' }];
  }
  if (path !== undefined && prefix !== undefined) {
    return [{ pointer: at, message: 'must have at most one of `path` and `prefix`' }];
  }
  return prefix !== undefined && matchedBy === 'other' ? [{ pointer: `${at}/prefix`, message: prefixMessage }] : [];
}

function checkRespond(action: Action, pointer: string): readonly FieldError[] {
  const { respond } = action;
  // RFC 9110 section 6.4.1: these answers have no content.
  if (respond?.body === undefined || respond.body === '' || ![204, 205, 304].includes(respond.status)) return [];
  return [{ pointer: `${pointer}/respond/body`, message: `must be absent: an answer ${respond.status} has no body` }];
}

function checkRewrite(rewrite: Rewrite, pointer: string, matchedBy: 'prefix' | 'other'): readonly FieldError[] {
  const ways = (['path', 'prefix', 'regex'] as const).filter((way) => rewrite[way] !== undefined);
  if (ways.length === 0 && rewrite.host === undefined) {
    return [{ pointer, message: 'must change something: give `host`, `path`, `prefix` or `regex`' }];
  }
  if (ways.length > 1) {
    const names = ways.map((way) => `\`${way}\``).join(' and ');
    return [{ pointer, message: `must have at most one of \`path\`, \`prefix\` and \`regex\`, and has ${names}` }];
  }
  if (rewrite.prefix !== undefined && matchedBy === 'other') {
    return [{ pointer: `${pointer}/prefix`, message: prefixMessage }];
  }
  const fault = rewrite.regex === undefined ? undefined : substitutionFault(rewrite.regex);
  return fault === undefined ? [] : [{ pointer: `${pointer}/regex/substitution`, message: fault }];
}

/** RE2 takes a backslash only before a digit that is a group of the pattern, or before another backslash. */
function substitutionFault(regex: NonNullable<Rewrite['regex']>): string | undefined {
  const facts = inspectRegex(regex.pattern);
  const groups = facts.ok ? facts.value.groups : 0;
  for (const [reference, character] of regex.substitution.matchAll(/\\(.?)/gs)) {
    if (character === '\\') continue;
    if (character === undefined || !/^[0-9]$/.test(character)) {
      return `must have a group number or a second backslash after \`\\\`, not \`${reference}\``;
    }
    if (Number(character) > groups) {
      return `must name a group of the pattern: it has ${groups}, and \`${reference}\` is not among them`;
    }
  }
  return undefined;
}

function checkRetry(action: Action, pointer: string): readonly FieldError[] {
  if (action.retry === undefined) return [];
  const { perTryMs, backoffBaseMs, backoffMaxMs } = effectiveRetry(action.retry);
  const { timeoutMs } = actionTimeouts(action);
  const errors: FieldError[] = [];
  if (perTryMs !== undefined && timeoutMs > 0 && perTryMs > timeoutMs) {
    errors.push({
      pointer: `${pointer}/retry/perTry`,
      message: `must be at most the \`timeout\` of ${formatDuration(timeoutMs)}, which ends all tries together`,
    });
  }
  if (backoffMaxMs < backoffBaseMs) {
    errors.push({
      pointer: `${pointer}/retry/backoff/max`,
      message: `must be at least \`base\`, which is ${formatDuration(backoffBaseMs)}`,
    });
  }
  return errors;
}

/** A header may be named once in all three lists: their order would decide otherwise. Names differ not by case. */
function checkHeaderEdits(edits: HeaderEdits, pointer: string): readonly FieldError[] {
  const named = [
    ...Object.keys(edits.set ?? {}).map((name) => ({ name, at: pointerTo('set', name) })),
    ...Object.keys(edits.add ?? {}).map((name) => ({ name, at: pointerTo('add', name) })),
    ...(edits.remove ?? []).map((name, i) => ({ name, at: pointerTo('remove', i) })),
  ];
  const first = new Map<string, string>();
  const errors: FieldError[] = [];
  for (const { name, at } of named) {
    const before = first.get(name.toLowerCase());
    if (before === undefined) first.set(name.toLowerCase(), at);
    else errors.push({ pointer: pointer + at, message: `\`${name}\` is already changed by ${pointer}${before}` });
  }
  return errors;
}
