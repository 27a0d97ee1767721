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
export function contentOf(state: TypeState, puts: Map<string, Resource>, removals: Set<string>): Iterable<Resource> {
  const content = new Map<string, Resource>();
  for (const [name, form] of state.held) {
    if (form.needs === undefined) throw new InvariantError(`${name} was acknowledged but is not known`);
    content.set(name, form);
  }
  for (const [name, flight] of state.flying) {
    const form = flight.puts.get(name);
    if (form === undefined) content.delete(name);
    else content.set(name, form);
  }
  for (const name of removals) content.delete(name);
  for (const [name, resource] of puts) content.set(name, resource);
  for (const [name, resource] of content) {
    if (state.held.get(name)?.hash !== resource.hash) puts.set(name, resource);
  }
  for (const name of state.held.keys()) if (!content.has(name)) removals.add(name);
  for (const [name, flight] of state.flying) if (!flight.puts.has(name) && !content.has(name)) removals.add(name);
  return content.values();
}
