import { type DraftObject, type Kind, kinds } from '../model/index.ts';
import { until } from './until.ts';

/** A client of the REST API, with what a demo needs of it and no more. */

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration: number;
}

export interface StoredObject {
  readonly kind: Kind;
  readonly metadata: { readonly name: string; readonly scope?: string; readonly generation: number };
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/** Names an object. */
export interface Target {
  readonly kind: Kind;
  readonly metadata: { readonly name: string; readonly scope?: string };
}

export interface Proxy {
  readonly node: string;
  readonly state: string;
  readonly version: string;
}

export interface Rest {
  /** Where it is: `http://127.0.0.1:7600`. */
  readonly url: string;
  /** Creates or replaces all of them in one commit. */
  apply(objects: readonly DraftObject[]): Promise<void>;
  get(target: Target): Promise<StoredObject>;
  /** Changes fields of a spec, by JSON Merge Patch. */
  patch(target: Target, spec: Readonly<Record<string, unknown>>): Promise<void>;
  /** Waits until every proxy has acknowledged the object as it is now. */
  programmed(target: Target): Promise<void>;
  proxies(): Promise<readonly Proxy[]>;
}

/** Every answer of a server on this machine comes within milliseconds. */
const requestTimeoutMs = 10_000;
/** For an object to get to all proxies. */
const programmedLimitMs = 20_000;

export function createRest(url: string, token: string, signal: AbortSignal): Rest {
  async function call(method: string, path: string, body?: unknown, type = 'application/json'): Promise<unknown> {
    const response = await fetch(`${url}${path}`, {
      method,
      signal: AbortSignal.any([signal, AbortSignal.timeout(requestTimeoutMs)]),
      headers: { authorization: `Bearer ${token}`, ...(body === undefined ? {} : { 'content-type': type }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer: unknown = await response.json();
    if (response.ok) return answer;
    const { detail, errors = [] } = answer as { detail?: string; errors?: { pointer: string; message: string }[] };
    const faults = errors.map(({ pointer, message }) => `${pointer} ${message}`);
    throw new Error([`${method} ${path} was answered with ${response.status}: ${detail}`, ...faults].join('; '));
  }

  const get = async (target: Target) => (await call('GET', pathOf(target))) as StoredObject;

  return {
    url,
    get,
    async apply(objects) {
      await call('POST', '/v1/apply', { objects });
    },
    async patch(target, spec) {
      await call('PATCH', pathOf(target), { spec }, 'application/merge-patch+json');
    },
    async programmed(target) {
      let fault: string | undefined;
      const look = async () => {
        fault = faultOf(await get(target));
        return fault === undefined ? true : undefined;
      };
      const what = `${target.kind} ${target.metadata.name} to be programmed`;
      await until(look, { what, limitMs: programmedLimitMs, everyMs: 20, signal, instead: () => fault ?? '' });
    },
    async proxies() {
      const { items } = (await call('GET', '/v1/proxies')) as { items: readonly Proxy[] };
      return items;
    },
  };
}

/** What is not as it should be in the end; undefined when all is. Kinds that no proxy is told of have no `Programmed`. */
function faultOf({ metadata, status }: StoredObject): string | undefined {
  const fault = (status?.conditions ?? []).find(
    ({ status, observedGeneration }) => status !== 'True' || observedGeneration !== metadata.generation,
  );
  return fault === undefined ? undefined : `${fault.type} is ${fault.status}, ${fault.reason}: ${fault.message}`;
}

function pathOf({ kind, metadata: { name, scope } }: Target): string {
  const { plural, global } = kinds[kind];
  return `/v1${global ? '' : `/scopes/${scope}`}/${plural}/${name}`;
}
