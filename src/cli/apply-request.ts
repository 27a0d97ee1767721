import { type Client, ProblemError, type Query } from './client.ts';
import { CliError } from './failure.ts';
import { describeFault, type ManifestObject } from './manifests.ts';

/**
 * Sends the objects of manifests to be applied, or tried out. What the server finds wrong is told by file and line.
 */
export async function requestApply(client: Client, objects: readonly ManifestObject[], query: Query): Promise<unknown> {
  try {
    return await client.request('POST', '/v1/apply', { query, body: objects.map(({ draft }) => draft) });
  } catch (error) {
    throw error instanceof ProblemError ? placed(error, objects) : error;
  }
}

/** The refusal with its pointers into the request turned into places in manifests. */
function placed(refusal: ProblemError, objects: readonly ManifestObject[]): CliError {
  const { errors = [] } = refusal.problem;
  const details = errors.map((fault) => {
    const match = /^\/(\d+)(.*)$/.exec(fault.pointer);
    const object = match === null ? undefined : objects[Number(match[1])];
    if (object === undefined) return fault.pointer === '' ? fault.message : `${fault.pointer} ${fault.message}`;
    return describeFault(object, { pointer: match?.[2] ?? '', message: fault.message });
  });
  const { exitCode, message, hint, requestId } = refusal;
  return new CliError(exitCode, message, { details, hint, requestId, cause: refusal });
}
