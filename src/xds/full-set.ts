/** The full set that a state-of-the-world response of clusters or listeners holds (rule 27). */
import { InvariantError } from '../lib/errors.ts';
import type { Resource } from './resource.ts';
import type { TypeState } from './type-state.ts';

/**
 * What the client is to have once it accepts the response: what it has or is on its way to, with `puts` and without
 * `removals`. So a suspect, and a resource that waits, stand there in their last good form.
 *
 * Both collections are completed to all that makes the response differ from what is acknowledged. A refusal may mean
 * any of it, and an answer stands for all the responses before it, which a client that was busy does not answer.
 */
export function contentOf(state: TypeState, puts: Map<string, Resource>, removals: Set<string>): readonly Resource[] {
  if (state.held.size === 0 && state.flying.isEmpty) return [...puts.values()];
  const content: Resource[] = [];
  const given = puts.size;
  const { held, flying } = state;
  const isAtRest = flying.isEmpty;
  // In one go, for it is made with each change of any of ten thousand, for each stream; and all in the places that they
  // had before, for the sake of what is shared of the bytes.
  for (const [name, form] of held) {
    const flight = isAtRest ? undefined : flying.get(name);
    const next =
      puts.get(name) ?? (removals.has(name) ? undefined : flight === undefined ? form : flight.puts.get(name));
    if (next === undefined) {
      removals.add(name);
      continue;
    }
    if (next.needs === undefined) throw new InvariantError(`${name} was acknowledged but is not known`);
    content.push(next);
    if (next.hash !== form.hash) puts.set(name, next);
  }
  for (const [name, flight] of isAtRest ? [] : flying) {
    if (held.has(name)) continue;
    const form = puts.get(name) ?? (removals.has(name) ? undefined : flight.puts.get(name));
    if (form !== undefined) {
      content.push(form);
      puts.set(name, form);
    } else if (!flight.puts.has(name)) removals.add(name);
  }
  let at = 0;
  for (const [name, resource] of puts) {
    at += 1;
    if (at > given) break;
    if (!held.has(name) && (isAtRest || flying.get(name) === undefined)) content.push(resource);
  }
  return content;
}
