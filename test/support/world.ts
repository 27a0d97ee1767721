import { declareGraph, type Graph, type Pin, type Verdict } from '../../src/graph/index.ts';
import {
  type DraftObject,
  type FairwayObject,
  type Kind,
  type ObjectKey,
  objectKey,
  parseManifest,
  parseObject,
} from '../../src/model/index.ts';
import { declareTranslation, type Translation, type TranslationOptions } from '../../src/translate/index.ts';
import { Kernel, type Table } from '../../src/view/index.ts';
import type { Resource } from '../../src/xds/index.ts';

/** A kernel with graph and translation, and objects put into it as a store would number them. */
export interface World {
  readonly kernel: Kernel;
  readonly graph: Graph;
  readonly translation: Translation;
  /** Puts objects in one change. One that is already there keeps its age; the next generation is counted. */
  apply(...drafts: readonly DraftObject[]): void;
  remove(...keys: readonly ObjectKey[]): void;
  /** Changes the labels alone, as an object that stays in its generation. */
  relabel(key: ObjectKey, labels: Readonly<Record<string, string>>): void;
  /** Proxies refuse the object as it now stands; what was good of it goes on, if anything was. */
  pin(key: ObjectKey, good?: Pin['good']): void;
  unpin(key: ObjectKey): void;
  /** The conditions of an object, by type. */
  verdict(key: ObjectKey): Readonly<Record<string, Verdict>>;
  resources(): Resource[];
  resource(type: string, name: string): Resource | undefined;
}

export function createWorld(options: TranslationOptions = {}): World {
  const kernel = new Kernel();
  const graph = declareGraph(kernel);
  const translation = declareTranslation(kernel, graph, options);
  let revision = 0;

  function change(edit: (fork: ReturnType<Kernel['fork']>) => void): void {
    const fork = kernel.fork();
    edit(fork);
    fork.settleNow();
    kernel.adopt(fork);
    const [failure] = kernel.failures();
    if (failure !== undefined) throw failure.error;
  }

  return {
    kernel,
    graph,
    translation,
    apply(...drafts) {
      change((fork) => {
        for (const draft of drafts) {
          revision += 1;
          const key = keyOf(draft);
          const table = tableOf(graph, draft.kind);
          fork.put(table, key, stored(draft, kernel.get(table, key), revision));
        }
      });
    },
    remove(...keys) {
      change((fork) => {
        for (const key of keys) fork.remove(tableOf(graph, key.split('/')[0] as Kind), key);
      });
    },
    relabel(key, labels) {
      const table = tableOf(graph, key.split('/')[0] as Kind);
      revision += 1;
      const before = kernel.get(table, key) as FairwayObject;
      const metadata = { ...before.metadata, labels, revision: String(revision) };
      change((fork) => fork.put(table, key, { ...before, metadata } as FairwayObject));
    },
    pin(key, good) {
      const object = kernel.get(tableOf(graph, key.split('/')[0] as Kind), key) as FairwayObject;
      const { uid, generation } = object.metadata;
      change((fork) => fork.put(graph.pins, key, { uid, refused: generation, good }));
    },
    unpin(key) {
      change((fork) => fork.remove(graph.pins, key));
    },
    verdict(key) {
      const conditions = kernel.get(graph.verdicts, key)?.conditions ?? [];
      return Object.fromEntries(conditions.map((condition) => [condition.type, condition]));
    },
    resources() {
      return translation.outputs.flatMap((output) =>
        [...kernel.keys(output)].map((name) => kernel.get(output, name) as Resource),
      );
    },
    resource(type, name) {
      const output = translation.outputs.find((rows) => kernel.get(rows, name)?.type === type);
      return output === undefined ? undefined : kernel.get(output, name);
    },
  };
}

export function keyOf({ kind, metadata }: DraftObject): ObjectKey {
  return objectKey(kind, metadata.scope, metadata.name);
}

function tableOf(graph: Graph, kind: Kind): Table<FairwayObject> {
  return graph.objects[kind];
}

function stored(draft: DraftObject, before: FairwayObject | undefined, revision: number): FairwayObject {
  const created = before?.metadata.createdRevision ?? String(revision);
  return {
    ...draft,
    metadata: {
      ...draft.metadata,
      uid: keyOf(draft),
      generation: (before?.metadata.generation ?? 0) + 1,
      revision: String(revision),
      createdRevision: created,
      createdAt: '2026-01-01T00:00:00Z',
    },
  } as FairwayObject;
}

/** The objects of a YAML text; throws at the first that is not valid. */
export function objectsOf(yaml: string): DraftObject[] {
  const documents = parseManifest(yaml, { format: 'yaml' });
  if (!documents.ok) throw new Error(JSON.stringify(documents.error));
  return documents.value.map((document) => {
    const object = parseObject(document);
    if (!object.ok) throw new Error(JSON.stringify(object.error));
    return object.value;
  });
}
