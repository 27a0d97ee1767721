/**
 * The plan of the house: which rooms there are, what each may import, where it is entered, which packages belong where.
 * The rules that read this table are in rules.ts; house.test.ts holds src/ to it.
 */

/** One part of src/, entered by other rooms through its door alone. */
export interface Room {
  /** Folder below src/; a `*` stands for any folders between, and a file name (without ending) for that file. */
  readonly path: string;
  readonly ring: number;
  /** The rooms it may import. */
  readonly imports: readonly string[];
  /** Rooms that it may reach by `import()` only, so that they cost nothing until they are needed. */
  readonly lazy?: readonly string[];
  /** Files by which others enter: the first is there in every case. `any` where each file stands for itself. */
  readonly doors: readonly string[] | 'any';
  /** A pure room takes all it needs as arguments and returns all it decided. */
  readonly pure?: true;
}

const ring0 = ['lib', 'gen', 'telemetry'];
const ring1 = [...ring0, 'model', 'config'];
const ring2 = [...ring1, 'view'];
/** Ring 3 as shells see it. */
const ring3 = [...ring2, 'access', 'policy', 'graph', 'plan', 'translate', 'status', 'audit', 'xds', 'agent'];
const ring4 = [...ring3, 'store', 'observe', 'api', 'control', 'pki', 'xds/io', 'agent/*io'];

/** Import only downwards. More exact paths come before the folders that they lie in. */
export const rooms: readonly Room[] = [
  { ring: 6, path: 'bin', imports: ['lib'], lazy: ['cli'], doors: 'any' },

  // Composition: builds the rooms, hands ports over. The cli is a client of the API and must start fast.
  { ring: 5, path: 'server', imports: ring4, doors: ['index.ts', 'main.ts'] },
  { ring: 5, path: 'agent/main', imports: ring4, doors: ['main.ts'] },
  { ring: 5, path: 'cli', imports: ring1, lazy: ['server', 'demo', 'agent/main'], doors: ['main.ts'] },
  { ring: 5, path: 'demo', imports: ring1, doors: ['main.ts'] },

  // Shells: the world outside. They never import each other; the composition hands functions over.
  { ring: 4, path: 'store', imports: ring3, doors: ['index.ts'] },
  { ring: 4, path: 'observe', imports: ring3, doors: ['index.ts'] },
  { ring: 4, path: 'api', imports: ring3, doors: ['index.ts'] },
  { ring: 4, path: 'control', imports: ring3, doors: ['index.ts'] },
  { ring: 4, path: 'pki', imports: ring3, doors: ['index.ts'] },
  { ring: 4, path: 'xds/io', imports: [...ring0, 'xds'], doors: ['index.ts'] },
  { ring: 4, path: 'agent/*io', imports: [...ring0, 'xds', 'xds/io', 'agent'], doors: ['index.ts'] },

  // Pure: access stands by itself. policy < graph < plan, translate, status. xds knows no Fairway noun and is filled by translate; agent never
  // sees the store.
  { ring: 3, path: 'access', imports: ring1, doors: ['index.ts'], pure: true },
  { ring: 3, path: 'policy', imports: ring2, doors: ['index.ts'], pure: true },
  { ring: 3, path: 'graph', imports: [...ring2, 'policy'], doors: ['index.ts'], pure: true },
  { ring: 3, path: 'plan', imports: [...ring2, 'policy', 'graph'], doors: ['index.ts'], pure: true },
  { ring: 3, path: 'translate', imports: [...ring2, 'policy', 'graph', 'xds'], doors: ['index.ts'], pure: true },
  { ring: 3, path: 'status', imports: [...ring2, 'policy', 'graph'], doors: ['index.ts'], pure: true },
  { ring: 3, path: 'audit', imports: ring2, doors: ['index.ts'], pure: true },
  { ring: 3, path: 'xds', imports: ring0, doors: ['index.ts'], pure: true },
  { ring: 3, path: 'agent', imports: [...ring0, 'xds'], doors: ['index.ts'], pure: true },

  { ring: 2, path: 'view', imports: ring1, doors: ['index.ts'], pure: true },

  { ring: 1, path: 'model', imports: ring0, doors: ['index.ts'], pure: true },
  { ring: 1, path: 'config', imports: ring0, doors: ['index.ts'] },

  { ring: 0, path: 'telemetry', imports: ['lib'], doors: 'any' },
  { ring: 0, path: 'lib', imports: ['gen'], doors: 'any' },
  { ring: 0, path: 'gen', imports: [], doors: 'any' },
];

/** Files with an entrance of their own: who may import them besides their room. */
export const sideDoors: readonly { readonly file: string; readonly for: readonly string[]; readonly why: string }[] = [
  {
    file: 'store/store.ts',
    for: ['observe', 'api', 'control', 'pki', 'server'],
    why: 'the interface is types and limits; the stores behind the door bring drivers',
  },
  {
    file: 'model/kind.ts',
    for: ['cli'],
    why: 'names of the kinds; the schemas behind the door take longer to load than a whole `fairway get` may',
  },
];

/** What a pure room may not name: the world outside, and the libraries that speak to it or wait for it. */
export const impure = /^(node:|rxjs(\/|$)|@grpc\/|fastify$|@fastify\/|pino(\/|$))/;

/** Packages that live in few rooms, so that nobody else pays for them or waits in their way. */
export const homes: readonly {
  readonly packages: RegExp;
  readonly rooms: readonly string[];
  /** Within these rooms, only files that match. */
  readonly files?: RegExp;
}[] = [
  { packages: /^(fastify|@fastify\/.*)$/, rooms: ['api'] },
  { packages: /^@grpc\//, rooms: ['xds/io', 'observe', 'agent/*io'] },
  { packages: /^rxjs(\/|$)/, rooms: ['control', 'agent/main', 'lib'] },
  { packages: /^commander$/, rooms: ['cli'] },
  { packages: /^(@opentelemetry\/.*|prom-client)$/, rooms: ['telemetry'] },
  { packages: /^node:sqlite$/, rooms: ['store'] },
  { packages: /^etcd3$/, rooms: ['store'], files: /\/etcd[^/]*\.ts$/ },
];

/** Names that one file of a room alone may import from elsewhere. */
export const soleImporters: readonly { readonly room: string; readonly name: string; readonly file: string }[] = [
  // Map entries are put in order there, once: two callers would be two orders, and other bytes for the same meaning.
  { room: 'translate', name: 'toBinary', file: 'translate/encode.ts' },
];

/** File names that say nothing about what is inside. */
export const emptyNames = /^(utils?|helpers?|common|misc|shared)$/;

/** All that may stand at the top of the repository, besides dotfiles and what is not committed. */
export const topLevel = [
  'README.md',
  'bench',
  'envoy',
  'package-lock.json',
  'package.json',
  'protos',
  'src',
  'test',
  'tsconfig.json',
];
