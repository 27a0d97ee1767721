/**
 * Who tries first. After a refusal, what is new of the name goes to one stream of each version of client, so that a
 * search for the culprit costs one proxy some refusals and not a thousand of them: to the oldest that can take it, which
 * every part of the server finds by itself, without anything to keep in step.
 */
import type { Version } from './forms.ts';
import { visible } from './needs.ts';
import type { Resource, TypeUrl } from './resource.ts';
import type { Stream } from './stream.ts';

/** The stream that tries this form of a name for its version; undefined: there is none. `streams`: oldest first. */
export function canaryOf(streams: Iterable<Stream>, version: Version, resource: Resource): Stream | undefined {
  let second: Stream | undefined;
  for (const stream of streams) {
    if (stream.version !== version || !canTry(stream, resource)) continue;
    // Its refusals were not those of others: what it says counts only when nobody else is there to say it.
    if (!stream.isOdd) return stream;
    second ??= stream;
  }
  return second;
}

function canTry(stream: Stream, { type, name, hash }: Resource): boolean {
  const state = stream.state(type);
  if (state === undefined || !state.wants(name) || stream.trust !== 'complete') return false;
  if (visible(stream, type, name) === undefined || state.refused.get(name)?.hash === hash) return false;
  return !isSilent(stream, type, name);
}

/** It was sent the name and does not answer. */
function isSilent(stream: Stream, type: TypeUrl, name: string): boolean {
  const unanswered = stream.state(type)?.unanswered ?? [];
  return unanswered.some(({ overdue, puts }) => overdue && puts.has(name));
}
