import type { FieldError } from '../lib/errors.ts';
import { nearest } from '../lib/nearest.ts';
import { err, ok, type Result } from '../lib/result.ts';
import { type ServerConfig, serverDefaults, serverFields } from './server-config.ts';
import { faultsTogether } from './together.ts';

type Field = keyof ServerConfig;

const fields = Object.keys(serverFields) as Field[];

/**
 * The configuration from a file's content (already read as YAML or JSON), the environment and flags; later ones win:
 * default < file < environment < flag. Flags are given by field name. All faults are told at once; `pointer` is
 * the field of the file, the variable or the flag.
 */
export function parseServerConfig(input: {
  readonly file?: unknown;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly flags: Readonly<Partial<Record<Field, unknown>>>;
}): Result<ServerConfig, FieldError[]> {
  const errors: FieldError[] = [];
  const values: Record<string, unknown> = { ...serverDefaults };
  const take = (field: Field, value: unknown, pointer: string): void => {
    const parsed = serverFields[field].parse(value);
    if (parsed.ok) values[field] = parsed.value;
    else errors.push({ pointer, message: parsed.error });
  };
  /** `store: {kind: etcd, endpoints: […], …}` is the same as `store: etcd` and the fields that begin with `etcd`. */
  const takeStore = (store: Readonly<Record<string, unknown>>): void => {
    for (const [name, value] of Object.entries(store)) {
      const field = belowStore.get(name);
      if (field !== undefined) take(field, value, `/store/${name}`);
      else {
        const near = nearest(name, [...belowStore.keys()]);
        const hint =
          near === undefined ? `; there are ${[...belowStore.keys()].join(', ')}` : `; did you mean ${near}?`;
        errors.push({ pointer: `/store/${name}`, message: `unknown field${hint}` });
      }
    }
  };
  const { file } = input;
  if (file !== undefined && file !== null) {
    if (typeof file !== 'object' || Array.isArray(file))
      errors.push({ pointer: '', message: 'must be a mapping of fields' });
    else {
      for (const [name, value] of Object.entries(file)) {
        if (name === 'store' && isMapping(value)) takeStore(value);
        else if (isField(name)) take(name, value, `/${name}`);
        else errors.push({ pointer: `/${name}`, message: unknownField(name) });
      }
    }
  }
  for (const field of fields) {
    const { env, flag } = serverFields[field];
    if (input.env[env] !== undefined) take(field, input.env[env], env);
    if (input.flags[field] !== undefined) take(field, input.flags[field], flag);
  }
  if (errors.length > 0) return err(errors);
  const config = values as unknown as ServerConfig;
  const faults = faultsTogether(config);
  return faults.length > 0 ? err(faults) : ok(config);
}

/** Names below `store` in a file. */
const belowStore: ReadonlyMap<string, Field> = new Map<string, Field>([
  ['kind', 'store'],
  ...fields.flatMap((field): [string, Field][] => {
    if (!field.startsWith('etcd')) return [];
    const name = field.slice('etcd'.length);
    return [[name.charAt(0).toLowerCase() + name.slice(1), field]];
  }),
]);

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isField(name: string): name is Field {
  return Object.hasOwn(serverFields, name);
}

function unknownField(name: string): string {
  const near = nearest(name, fields);
  return near === undefined ? `unknown field; there are ${fields.join(', ')}` : `unknown field; did you mean ${near}?`;
}
