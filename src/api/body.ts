import { FairwayError, type FieldError } from '../lib/errors.ts';
import { decodeUtf8 } from '../lib/utf8.ts';
import { parseManifest } from '../model/index.ts';
import { createParseThread } from './parse-thread.ts';
import { mediaTypeAdvice } from './problem.ts';

/**
 * From the bytes of a request to values: media type, UTF-8, then JSON or YAML. What the values mean is for
 * `parseObject` alone to say.
 */

export const jsonMediaTypes = ['application/json'] as const;
export const yamlMediaTypes = ['application/yaml', 'application/x-yaml', 'text/yaml', 'text/x-yaml'] as const;
export const patchMediaTypes = ['application/merge-patch+json', 'application/json'] as const;

export interface Body {
  readonly bytes: Uint8Array | undefined;
  /** As in the header: `application/yaml; charset=utf-8`. */
  readonly contentType: string | undefined;
}

/** Reads the bodies of requests. One per API. */
export interface Bodies {
  /** All values of a body: one of JSON, one for each document of YAML. Rejects with the problem when there is none. */
  values(body: Body): Promise<readonly unknown[]>;
  /** The one value of a body. */
  value(body: Body): Promise<unknown>;
  /** A JSON Merge Patch. */
  patch(body: Body): Promise<unknown>;
  close(): Promise<void>;
}

/** Up to here a body is read at once, in a few milliseconds; a larger one by a thread, so that the others go on. */
const inlineBytes = { json: 128 * 1024, yaml: 8 * 1024 } as const;

export function createBodies(): Bodies {
  const thread = createParseThread();

  async function parse({ bytes = new Uint8Array() }: Body, format: 'json' | 'yaml'): Promise<readonly unknown[]> {
    const text = decodeUtf8(bytes);
    if (!text.ok) {
      const { offset } = text.error;
      throw malformed(`byte ${offset} (line ${lineOf(bytes, offset)}) is not valid UTF-8`);
    }
    const small = bytes.length <= inlineBytes[format];
    const values = small ? parseManifest(text.value, { format }) : await thread.parse(text.value, format);
    if (values.ok) return values.value;
    throw malformed(values.error[0]?.message ?? `it is no ${format}`, values.error);
  }

  async function values(body: Body): Promise<readonly unknown[]> {
    const mediaType = mediaTypeOf(body, [...jsonMediaTypes, ...yamlMediaTypes]);
    return parse(body, (jsonMediaTypes as readonly string[]).includes(mediaType) ? 'json' : 'yaml');
  }

  return {
    values,
    async value(body) {
      const all = await values(body);
      if (all.length === 1) return all[0];
      const count = all.length === 0 ? 'none' : `${all.length}`;
      throw new FairwayError('MalformedBody', `reading the body: one object is expected here, not ${count}`, {
        extra: { documents: all.length },
      });
    },
    async patch(body) {
      mediaTypeOf(body, patchMediaTypes);
      return (await parse(body, 'json'))[0];
    },
    close: () => thread.close(),
  };
}

function mediaTypeOf({ bytes, contentType }: Body, accepted: readonly string[]): string {
  if (bytes === undefined || bytes.length === 0) throw malformed('it is empty');
  const [type = '', ...parameters] = (contentType ?? '').split(';').map((part) => part.trim().toLowerCase());
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice('charset='.length);
  if (accepted.includes(type) && [undefined, 'utf-8', '"utf-8"', 'utf8'].includes(charset)) return type;
  throw new FairwayError('UnsupportedMediaType', `reading the body: ${mediaTypeAdvice}, in UTF-8`);
}

function malformed(fault: string, errors: readonly FieldError[] = []): FairwayError {
  return new FairwayError('MalformedBody', `reading the body: ${fault}`, { errors });
}

function lineOf(bytes: Uint8Array, offset: number): number {
  let line = 1;
  for (let i = 0; i < offset; i++) if (bytes[i] === 0x0a) line++;
  return line;
}
