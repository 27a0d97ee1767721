import { invalidParameter } from './query.ts';

/**
 * Selection by labels, as kubectl has it: `team=web`, `team==web`, `team!=web`, `team in (web, api)`,
 * `team notin (web)`, `team`, `!team`; with commas between, all must hold. `!=` and `notin` take objects without the
 * label too.
 */
export type LabelSelector = (labels: Readonly<Record<string, string>>) => boolean;

const key = '[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?';
const value = '(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?';
const equality = new RegExp(`^(${key})\\s*(==|=|!=)\\s*(${value})$`);
const membership = new RegExp(`^(${key})\\s+(in|notin)\\s*\\(([^()]*)\\)$`);
const existence = new RegExp(`^(!?)\\s*(${key})$`);
const wholeValue = new RegExp(`^${value}$`);

/** Throws `InvalidParameter` that names `parameter` and the place of the requirement that is none; never its text. */
export function parseLabelSelector(text: string, parameter: string): LabelSelector {
  const requirements = splitOutsideParentheses(text).map((part, i) => {
    const requirement = parseRequirement(part.trim());
    if (requirement !== undefined) return requirement;
    const wanted = 'team=web, team!=web, team in (web, api), team notin (web), team or !team';
    throw invalidParameter(parameter, `must be requirements such as ${wanted}; number ${i + 1} is none`);
  });
  return (labels) => requirements.every((holds) => holds(labels));
}

function parseRequirement(text: string): LabelSelector | undefined {
  const equal = equality.exec(text);
  if (equal !== null) {
    const [, name = '', operator, wanted = ''] = equal;
    return operator === '!=' ? (labels) => label(labels, name) !== wanted : (labels) => label(labels, name) === wanted;
  }
  const member = membership.exec(text);
  if (member !== null) {
    const [, name = '', operator, list = ''] = member;
    const wanted = new Set(list.split(',').map((item) => item.trim()));
    if (![...wanted].every((item) => wholeValue.test(item))) return undefined;
    const isIn: LabelSelector = (labels) => {
      const found = label(labels, name);
      return found !== undefined && wanted.has(found);
    };
    return operator === 'in' ? isIn : (labels) => !isIn(labels);
  }
  const exists = existence.exec(text);
  if (exists !== null) {
    const [, negation, name = ''] = exists;
    return (labels) => (label(labels, name) !== undefined) === (negation === '');
  }
  return undefined;
}

/** Labels come from operators: `constructor` must not find what every object inherits. */
function label(labels: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(labels, name) ? labels[name] : undefined;
}

function splitOutsideParentheses(text: string): string[] {
  const parts: string[] = [];
  let start = 0;
  let isInside = false;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '(') isInside = true;
    else if (text[at] === ')') isInside = false;
    else if (text[at] === ',' && !isInside) {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
  }
  parts.push(text.slice(start));
  return parts;
}
