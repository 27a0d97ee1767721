import type { WireObject } from '../wire.ts';

/** An object in the order in which people read it. */
export function ordered(object: WireObject): Record<string, unknown> {
  const { apiVersion, kind, metadata, spec, status, ...rest } = object as WireObject & Record<string, unknown>;
  const { name, scope, labels, annotations, ...written } = metadata;
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...(scope === undefined ? {} : { scope }),
      ...(isEmpty(labels) ? {} : { labels }),
      ...(isEmpty(annotations) ? {} : { annotations }),
      ...written,
    },
    spec,
    ...(status === undefined ? {} : { status }),
    ...rest,
  };
}

function isEmpty(map: Readonly<Record<string, string>> | undefined): boolean {
  return map === undefined || Object.keys(map).length === 0;
}

/** What an operator writes: the object without what Fairway adds. */
export function withoutServerFields(object: WireObject): Record<string, unknown> {
  const { name, scope, labels, annotations } = object.metadata;
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: {
      name,
      ...(scope === undefined ? {} : { scope }),
      ...(isEmpty(labels) ? {} : { labels }),
      ...(isEmpty(annotations) ? {} : { annotations }),
    },
    spec: object.spec,
  };
}

export async function toYaml(value: unknown): Promise<string> {
  const { stringify } = await import('yaml');
  // No folding: a line of a manifest is a line of a diff. No anchors: equal values are not one value. Quotes wherever
  // YAML 1.1 would read something else than text, since other tools read what is printed here.
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false, compat: 'yaml-1.1' });
}

export function toJson(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
