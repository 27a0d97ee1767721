/** What `fairway get` shows of each kind. */
import type { Kind, SpecOf } from '../model/index.ts';
import type { Tone } from './output/colour.ts';
import type { Cell, Column } from './output/table.ts';
import { formatAge } from './output/text.ts';
import type { WireCondition, WireObject } from './wire.ts';

interface WireOf<K extends Kind> extends WireObject {
  readonly spec: SpecOf<K> & Readonly<Record<string, unknown>>;
}

type ColumnsOf = { readonly [K in Kind]: readonly Column<WireOf<K>>[] };

const none = '-';

function listed(values: readonly string[] | undefined): string {
  return values === undefined || values.length === 0 ? none : values.join(',');
}

function condition(object: WireObject, type: string): WireCondition | undefined {
  return object.status?.conditions?.find((one) => one.type === type);
}

/** Conditions in the order in which they explain each other: who is not accepted is not programmed either. */
const byCause = ['Accepted', 'ResolvedRefs', 'Connected', 'Programmed'];

/** The condition that explains best why an object is not all well; undefined when it is. */
export function firstFault(object: WireObject): WireCondition | undefined {
  const faults = (object.status?.conditions ?? []).filter(({ status }) => status !== 'True');
  const rank = ({ type }: WireCondition) => (byCause.includes(type) ? byCause.indexOf(type) : byCause.length);
  return faults.toSorted((a, b) => rank(a) - rank(b))[0];
}

const toneOfStatus: Readonly<Record<WireCondition['status'], Tone>> = {
  True: 'good',
  False: 'bad',
  Unknown: 'warning',
};

export function statusCell(status: WireCondition['status'] | undefined): Cell {
  return status === undefined ? { text: none } : { text: status, tone: toneOfStatus[status] };
}

/** Length of a list in `status`, or the number itself: which of the two it is differs from field to field. */
function counted(value: unknown): string {
  if (Array.isArray(value)) return String(value.length);
  return typeof value === 'number' ? String(value) : none;
}

function namesIn(value: unknown): string {
  return Array.isArray(value) ? listed(value.map((item) => String(item).replace(/^.*\//, ''))) : counted(value);
}

const text = (value: unknown): string => (typeof value === 'string' && value !== '' ? value : none);

const programmed: Column<WireObject> = {
  title: 'PROGRAMMED',
  cell: (object) => statusCell(condition(object, 'Programmed')?.status),
};

const reason: Column<WireObject> = {
  title: 'REASON',
  shrinkTo: 8,
  cell(object) {
    const fault = firstFault(object);
    return fault === undefined ? '' : { text: fault.reason, tone: toneOfStatus[fault.status] };
  },
};

const message: Column<WireObject> = {
  title: 'MESSAGE',
  wide: true,
  shrinkTo: 20,
  cell: (object) => firstFault(object)?.message ?? '',
};

const hosts: Column<{ readonly spec: { readonly hosts?: readonly string[] } }> = {
  title: 'HOSTS',
  shrinkTo: 10,
  cell: ({ spec }) => (spec.hosts === undefined ? '*' : listed(spec.hosts)),
};

const usedBy: Column<WireObject> = {
  title: 'USED-BY',
  shrinkTo: 8,
  cell: ({ status }) => namesIn(status?.['usedBy']),
};

const columnsOf: ColumnsOf = {
  Scope: [
    {
      title: 'LABELS',
      shrinkTo: 10,
      cell: ({ metadata }) => listed(Object.entries(metadata.labels ?? {}).map(([name, value]) => `${name}=${value}`)),
    },
  ],
  RoleBinding: [
    { title: 'ROLE', cell: ({ spec }) => spec.role ?? none },
    { title: 'SCOPES', shrinkTo: 8, cell: ({ spec }) => listed(spec.scopes) },
    { title: 'PERMISSIONS', shrinkTo: 10, cell: ({ spec }) => listed(spec.permissions) },
    {
      title: 'SUBJECTS',
      shrinkTo: 12,
      cell: ({ spec }) =>
        listed(spec.subjects.flatMap((subject) => Object.entries(subject).map((one) => one.join(':')))),
    },
    reason,
    message,
  ],
  Fleet: [
    { title: 'HA', cell: ({ spec }) => spec.ha ?? 'everyNode' },
    { title: 'DRAIN-TIMEOUT', cell: ({ spec }) => spec.drainTimeout ?? '60s' },
    programmed,
    reason,
    message,
  ],
  Node: [
    { title: 'FLEET', cell: ({ status }) => text(status?.['fleet']) },
    { title: 'CONNECTED', cell: (object) => statusCell(condition(object, 'Connected')?.status) },
    { title: 'ENVOY', cell: ({ status }) => text((status?.['envoy'] as { version?: unknown } | undefined)?.version) },
    {
      title: 'CERTIFICATE-UNTIL',
      wide: true,
      cell: ({ status }) => text((status?.['certificate'] as { notAfter?: unknown } | undefined)?.notAfter),
    },
    programmed,
    reason,
    message,
  ],
  Certificate: [
    { title: 'SUBJECT', shrinkTo: 10, cell: ({ status }) => text(status?.['subject']) },
    { title: 'DAYS-LEFT', cell: ({ status }) => counted(status?.['daysLeft']) },
    usedBy,
    programmed,
    reason,
    message,
  ],
  BackendPool: [
    { title: 'MEMBERS', cell: ({ spec }) => counted(spec.members ?? []) },
    { title: 'ALGORITHM', cell: ({ spec }) => spec.algorithm ?? 'roundRobin' },
    { title: 'CHECKS', cell: ({ spec }) => listed(spec.healthChecks?.map(({ type }) => type)) },
    usedBy,
    programmed,
    reason,
    message,
  ],
  VirtualService: [
    { title: 'FLEET', cell: ({ spec, status }) => spec.fleet ?? text(status?.['fleet']) },
    {
      title: 'LISTENERS',
      shrinkTo: 12,
      cell: ({ spec }) => listed(spec.listeners.map(({ port, protocol }) => `${port}/${protocol}`)),
    },
    {
      title: 'HOSTS',
      shrinkTo: 10,
      cell({ spec }) {
        const named = spec.listeners.flatMap(({ hosts = [], routes = [] }) => [
          ...hosts,
          ...routes.flatMap((route) => route.hosts ?? []),
        ]);
        return named.length === 0 ? '*' : listed([...new Set(named)]);
      },
    },
    {
      title: 'ADDRESSES',
      wide: true,
      shrinkTo: 10,
      cell: ({ spec }) => (spec.addresses === undefined ? '*' : listed(spec.addresses.map(({ address }) => address))),
    },
    programmed,
    reason,
    message,
  ],
  Route: [
    {
      title: 'ATTACHED-TO',
      shrinkTo: 12,
      cell: ({ spec }) => listed(spec.attachTo.map(({ virtualService, listener }) => `${virtualService}:${listener}`)),
    },
    hosts,
    { title: 'RULES', cell: ({ spec }) => counted(spec.rules) },
    programmed,
    reason,
    message,
  ],
};

export interface ColumnOptions {
  /** Shows the scope of each object. */
  readonly scopes: boolean;
  /** Stands before each name: `virtual-service/`. */
  readonly prefix: string;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** The columns of a table of one kind: where it is, its name, what the kind shows, its age. */
export function columnsFor(kind: Kind, options: ColumnOptions): readonly Column<WireObject>[] {
  const scope: Column<WireObject> = { title: 'SCOPE', cell: ({ metadata }) => metadata.scope ?? none };
  const name: Column<WireObject> = { title: 'NAME', cell: ({ metadata }) => `${options.prefix}${metadata.name}` };
  const generation: Column<WireObject> = {
    title: 'GENERATION',
    wide: true,
    cell: ({ metadata }) => counted(metadata.generation),
  };
  const age: Column<WireObject> = {
    title: 'AGE',
    cell: ({ metadata }) =>
      metadata.createdAt === undefined ? none : formatAge(options.now - Date.parse(metadata.createdAt)),
  };
  const own = columnsOf[kind] as readonly Column<WireObject>[];
  const beforeMessage = own.filter((column) => column !== message);
  return [
    ...(options.scopes ? [scope] : []),
    name,
    ...beforeMessage,
    generation,
    age,
    // Last, since it is the longest and the least regular.
    ...(own.includes(message) ? [message] : []),
  ];
}
