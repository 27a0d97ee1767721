import { readdirSync, readFileSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { FieldError } from '../lib/errors.ts';
import { decodeUtf8 } from '../lib/utf8.ts';
import { type DraftObject, parseManifest, parseObject } from '../model/index.ts';
import { CliError, exitCodes, usageError } from './failure.ts';
import type { Io } from './io.ts';
import { lineOf } from './manifest-lines.ts';
import { count } from './output/text.ts';

/** An object of a manifest, and where it stands there. */
export interface ManifestObject {
  readonly draft: DraftObject;
  readonly place: Place;
}

/** Where an object stands in a text. */
interface Place {
  /** As messages name it. */
  readonly file: string;
  readonly text: string;
  /** Among the documents that are not empty. */
  readonly document: number;
  /** Pointer to the object inside of its document: `/items/2` in a List. */
  readonly inside: string;
}

interface Source {
  readonly file: string;
  readonly bytes: Uint8Array;
}

/** Files of a folder that are manifests. */
const manifestEndings = ['.yaml', '.yml', '.json'];

/**
 * Reads and checks all objects of files, of folders (their files by name, without inner folders) and of standard input
 * (`-`). Throws one error that names every fault by file and line, so that nothing is sent before all is right.
 *
 * @param defaultScope of objects that name none
 */
export async function readManifests(
  paths: readonly string[],
  io: Io,
  defaultScope: string,
): Promise<readonly ManifestObject[]> {
  const objects: ManifestObject[] = [];
  const faults: string[] = [];
  for (const { file, bytes } of await readSources(paths, io)) {
    const text = decodeUtf8(bytes);
    if (!text.ok) {
      faults.push(`${file}: byte ${text.error.offset} is not valid UTF-8`);
      continue;
    }
    const format = extname(file) === '.json' ? 'json' : 'yaml';
    const values = parseManifest(text.value, { format });
    if (!values.ok) {
      faults.push(...values.error.map(({ message }) => `${file}: ${message}`));
      continue;
    }
    for (const [document, value] of values.value.entries()) {
      for (const { item, inside } of itemsOf(value)) {
        const place: Place = { file, text: text.value, document, inside };
        const parsed = parseObject(item, { defaultScope });
        if (parsed.ok) objects.push({ draft: parsed.value, place });
        else faults.push(...parsed.error.map((error) => faultLine(place, error, titleOf(item))));
      }
    }
  }
  if (faults.length > 0) {
    throw new CliError(exitCodes.usage, `${count(faults.length, 'fault')} in the manifests`, { details: faults });
  }
  if (objects.length === 0) throw usageError(`There is no object in ${paths.join(', ')}`);
  return objects;
}

async function readSources(paths: readonly string[], io: Io): Promise<readonly Source[]> {
  const sources: Source[] = [];
  for (const path of paths) {
    if (path === '-') {
      sources.push({ file: '<stdin>', bytes: await io.readStdin() });
      continue;
    }
    try {
      const files = statSync(path).isDirectory() ? manifestsIn(path) : [path];
      sources.push(...files.map((file) => ({ file, bytes: readFileSync(file) })));
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      throw usageError(`${path} cannot be read: ${code === 'ENOENT' ? 'there is no such file' : message}`);
    }
  }
  return sources;
}

function manifestsIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && manifestEndings.includes(extname(entry.name)))
    .map((entry) => join(folder, entry.name))
    .sort();
}

/** The objects of a document: itself, or the items of a List as `fairway get -o json` prints it. */
function itemsOf(value: unknown): readonly { readonly item: unknown; readonly inside: string }[] {
  const { kind, items } = (value ?? {}) as { readonly kind?: unknown; readonly items?: unknown };
  if (typeof kind !== 'string' || !/^[A-Za-z]*List$/.test(kind) || !Array.isArray(items)) {
    return [{ item: value, inside: '' }];
  }
  return items.map((item, i) => ({ item, inside: `/items/${i}` }));
}

/** `VirtualService shop`, as far as the object says so. */
function titleOf(item: unknown): string {
  const { kind, metadata } = (item ?? {}) as {
    readonly kind?: unknown;
    readonly metadata?: { readonly name?: unknown };
  };
  const name = typeof metadata?.name === 'string' ? metadata.name : '';
  if (typeof kind !== 'string') return name;
  return name === '' ? kind : `${kind} ${name}`;
}

/** `shop.yaml:12: VirtualService shop: /spec/listeners/0/port must be …` */
function faultLine(place: Place, { pointer, message }: FieldError, title: string): string {
  const line = lineOf(place.text, place.document, `${place.inside}${pointer}`);
  const where = line === undefined ? place.file : `${place.file}:${line}`;
  return `${where}: ${title === '' ? '' : `${title}: `}${pointer === '' ? '' : `${pointer} `}${message}`;
}

/** What a server found wrong with an object, by the line where it stands. */
export function describeFault({ draft, place }: ManifestObject, { pointer, message }: FieldError): string {
  const { name, scope } = draft.metadata;
  // In a set the server says whose fault it is, which the line says already.
  const named = `${draft.kind} ${scope === undefined ? '' : `${scope}/`}${name}: `;
  const rest = message.startsWith(named) ? message.slice(named.length) : message;
  return faultLine(place, { pointer, message: rest }, `${draft.kind} ${name}`);
}
