/** The golden cases: what objects become. Inputs are manifests; outputs are the messages as YAML, one file per xDS type. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import type { DraftObject } from '../../src/model/index.ts';
import { describeResource, type TranslationOptions } from '../../src/translate/index.ts';
import { type Resource, typeUrls } from '../../src/xds/index.ts';
import { createWorld, keyOf, objectsOf, type World } from '../support/world.ts';

export const inFolder = fileURLToPath(new URL('in', import.meta.url));
export const outFolder = fileURLToPath(new URL('out', import.meta.url));

export const caseNames: readonly string[] = readdirSync(inFolder)
  .map((file) => file.replace(/\.yaml$/, ''))
  .sort();

export function readCase(name: string): DraftObject[] {
  return objectsOf(readFileSync(`${inFolder}/${name}.yaml`, 'utf8'));
}

/** A world in which the objects of the case were written one after the other. */
export function worldOf(name: string, options: TranslationOptions = {}): World {
  const world = createWorld(options);
  for (const object of readCase(name)) world.apply(object);
  return world;
}

const files = [
  ['clusters', typeUrls.cluster],
  ['endpoints', typeUrls.endpoint],
  ['secrets', typeUrls.secret],
  ['extensions', typeUrls.extension],
  ['listeners', typeUrls.listener],
  ['routes', typeUrls.route],
] as const;

/** File name → its text; what would be empty has no file. */
export function render(world: World, drafts: readonly DraftObject[]): Map<string, string> {
  const rendered = new Map<string, string>();
  const resources = world.resources();
  for (const [file, type] of files) {
    const own = resources.filter((resource) => resource.type === type);
    if (own.length > 0) {
      rendered.set(
        `${file}.yaml`,
        yaml(Object.fromEntries(own.map((resource) => [resource.name, readable(resource)]))),
      );
    }
  }
  const verdicts = drafts.map(keyOf).map((key) => [key, world.kernel.get(world.graph.verdicts, key)] as const);
  rendered.set('conditions.yaml', yaml(Object.fromEntries(verdicts.filter(([, verdict]) => verdict !== undefined))));
  return rendered;
}

function readable({ bytes, audience, needs, parts, warmupMs }: Resource): unknown {
  return {
    audience,
    ...(needs.length === 0 ? {} : { needs: needs.map(({ name }) => name) }),
    parts: parts.map(({ unit }) => unit),
    ...(warmupMs === undefined ? {} : { warmupMs }),
    resource: withoutPem(describeResource(bytes)),
  };
}

/** No certificate that nobody reads. */
function withoutPem(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(/-----BEGIN ([A-Z ]+)-----[\s\S]*-----END \1-----/, '[$1]');
  if (Array.isArray(value)) return value.map(withoutPem);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withoutPem(inner)]));
}

function yaml(value: unknown): string {
  return stringify(value, { sortMapEntries: true, lineWidth: 120, aliasDuplicateObjects: false });
}
