/**
 * Starts what a compose file says, with testcontainers: there need not be a `docker compose`. It knows what our file
 * uses and refuses all else, so that nothing in the file goes unheard.
 */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { GenericContainer, Network, type StartedNetwork, type StartedTestContainer, Wait } from 'testcontainers';
import { parse } from 'yaml';
import { parseDuration } from '../../../src/lib/duration.ts';
import { until } from '../until.ts';
import type { ContainerEngine } from './engine.ts';
import { repository } from './images.ts';

/** A service as the file has it, variables filled in. */
export interface ComposeService {
  readonly image: string;
  readonly build?: { readonly context: string; readonly dockerfile: string; readonly target: string };
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly hostname: string;
  readonly working_dir?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  /** Who is healthy, or has ended well. */
  readonly depends_on?: Readonly<Record<string, { readonly condition: Condition }>>;
  readonly healthcheck?:
    | {
        readonly test: readonly string[];
        readonly interval: string;
        readonly timeout: string;
        readonly retries: number;
      }
    | { readonly disable: true };
  readonly read_only?: boolean;
  readonly tmpfs?: readonly string[];
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly init?: boolean;
  readonly restart?: string;
  readonly networks?: readonly string[];
}

type Condition = 'service_healthy' | 'service_completed_successfully';

export type ComposeFile = Readonly<Record<string, ComposeService>>;

const knownKeys = new Set(
  ['image', 'build', 'command', 'hostname', 'environment', 'volumes', 'depends_on', 'healthcheck', 'read_only'].concat([
    ...['tmpfs', 'working_dir', 'entrypoint', 'cap_drop', 'security_opt', 'init', 'restart', 'networks'],
  ]),
);

/** Reads the services of a file, with its variables filled in. Builds have the repository as their context. */
export function readComposeFile(path: string, variables: Readonly<Record<string, string>>): ComposeFile {
  const file = parse(interpolate(readFileSync(path, 'utf8'), variables), { merge: true });
  const services: ComposeFile = file.services;
  for (const [name, service] of Object.entries(services)) {
    const unknown = Object.keys(service).filter((key) => !knownKeys.has(key));
    if (unknown.length > 0) throw new Error(`${path}: service ${name} has ${unknown}, which the test does not start`);
    const { build } = service;
    if (build !== undefined && resolve(dirname(path), build.context) !== resolve(repository)) {
      throw new Error(`${path}: service ${name} is built from ${build.context}, which is not the repository`);
    }
  }
  return services;
}

/** `${NAME}`, `${NAME:-default}` and `${NAME:?what to do}`; `$$` is a dollar. */
function interpolate(text: string, variables: Readonly<Record<string, string>>): string {
  const variable = /\$(?:\$|\{(\w+)(?::([-?])([^}]*))?\})/g;
  return text.replace(variable, (_, name?: string, kind?: string, words?: string) => {
    if (name === undefined) return '$';
    const value = variables[name];
    if (value !== undefined) return value;
    if (kind === '-') return words ?? '';
    throw new Error(`${name} is not set: ${words ?? ''}`);
  });
}

/** One container, which can be taken away and brought back. */
export interface ComposeContainer {
  readonly name: string;
  exec(command: readonly string[]): Promise<{ readonly exitCode: number; readonly output: string }>;
  /** SIGKILL to all that is in it. */
  kill(): Promise<void>;
  /** Starts it again, with what it has in volumes; resolves when it is healthy. */
  restart(): Promise<void>;
  /** The last lines that it wrote. */
  logs(lines: number): Promise<string>;
}

export interface ComposeProject {
  container(name: string): ComposeContainer;
}

/** Healthy means also: on two processors that do everything at the same time. */
const healthyLimitMs = 180_000;

/** Starts all services, each when those that it depends on are healthy, and waits until all are. */
export async function startCompose(engine: ContainerEngine, file: ComposeFile): Promise<ComposeProject> {
  const networks = new Map<string, StartedNetwork>();
  for (const name of new Set(Object.values(file).flatMap((service) => service.networks ?? []))) {
    networks.set(name, await new Network().start());
  }
  const starting = new Map<string, Promise<StartedTestContainer>>();
  const start = (name: string): Promise<StartedTestContainer> => {
    const present = starting.get(name);
    if (present !== undefined) return present;
    const service = file[name];
    if (service === undefined) throw new Error(`there is no service ${name}`);
    const fresh = Promise.all(Object.keys(service.depends_on ?? {}).map(start)).then(() =>
      new ServiceContainer(name, service, networks).start(),
    );
    starting.set(name, fresh);
    return fresh;
  };
  const started = new Map<string, ComposeContainer>();
  await Promise.all(
    Object.keys(file).map(async (name) => {
      started.set(name, containerOf(engine, name, await start(name)));
    }),
  );
  return {
    container(name) {
      const found = started.get(name);
      if (found === undefined) throw new Error(`there is no container ${name}`);
      return found;
    },
  };
}

/** What a container that does not get well has said last. */
const lastWordsChars = 3000;

class ServiceContainer extends GenericContainer {
  readonly #name: string;
  #words = '';

  constructor(name: string, service: ComposeService, networks: ReadonlyMap<string, StartedNetwork>) {
    super(service.image);
    this.#name = name;
    this.withLogConsumer((output) => {
      output.on('data', (chunk: Buffer | string) => {
        this.#words = (this.#words + chunk.toString()).slice(-lastWordsChars);
      });
    });
    this.hostConfig.ReadonlyRootfs = service.read_only === true;
    this.hostConfig.Init = service.init === true;
    if (service.working_dir !== undefined) this.withWorkingDir(service.working_dir);
    if (service.restart !== undefined) this.hostConfig.RestartPolicy = { Name: service.restart };
    if (service.entrypoint !== undefined) this.withEntrypoint([...service.entrypoint]);
    if (service.command !== undefined) this.withCommand([...service.command]);
    this.withHostname(service.hostname)
      .withEnvironment({ ...service.environment })
      .withTmpFs(Object.fromEntries((service.tmpfs ?? []).map((path) => [path, ''])))
      .withDroppedCapabilities(...(service.cap_drop ?? []))
      .withSecurityOpt(...(service.security_opt ?? []))
      .withBindMounts(
        (service.volumes ?? []).map((volume) => {
          const [source = '', target = '', mode] = volume.split(':');
          return { source, target, mode: mode === 'ro' ? ('ro' as const) : ('rw' as const) };
        }),
      )
      .withStartupTimeout(healthyLimitMs);
    const [network] = (service.networks ?? []).map((one) => (networks.get(one) as StartedNetwork).getName());
    if (network !== undefined) {
      // In it from the first moment: who is connected to it later asks the names of the machine.
      this.withNetworkMode(network);
      this.createOpts.NetworkingConfig = { EndpointsConfig: { [network]: { Aliases: [name] } } };
    }
    const { healthcheck } = service;
    if (healthcheck !== undefined && 'disable' in healthcheck) {
      this.createOpts.Healthcheck = { Test: ['NONE'] };
      if (service.restart === 'no') this.withWaitStrategy(Wait.forOneShotStartup());
      return;
    }
    this.withWaitStrategy(Wait.forHealthCheck());
    if (healthcheck === undefined) return;
    const nanos = (text: string): number => (parseDuration(text) as number) * 1e6;
    const { test, interval, timeout, retries } = healthcheck;
    const Test = [...test];
    this.createOpts.Healthcheck = { Test, Interval: nanos(interval), Timeout: nanos(timeout), Retries: retries };
  }

  override async start(): Promise<StartedTestContainer> {
    return super.start().catch((error: unknown) => {
      throw new Error(`${this.#name} did not get well: ${this.#words}`, { cause: error });
    });
  }
}

function containerOf(engine: ContainerEngine, name: string, started: StartedTestContainer): ComposeContainer {
  const container = engine.docker.getContainer(started.getId());
  const logs = async (lines: number): Promise<string> => {
    const output = await container.logs({ stdout: true, stderr: true, tail: lines, follow: false });
    return output.toString('utf8');
  };
  return {
    name,
    exec: (command) => started.exec([...command]),
    async kill() {
      await container.kill({ signal: 'SIGKILL' });
    },
    async restart() {
      await container.start();
      const isWell = async (): Promise<boolean> => {
        const { State } = await container.inspect();
        return State.Running && (State.Health === undefined || State.Health.Status === 'healthy');
      };
      await until(`${name} to be healthy again`, isWell, {
        limitMs: healthyLimitMs,
        everyMs: 100,
        describe: () => logs(20),
      });
    },
    logs,
  };
}

/** The images that services are built to, by tag. */
export function buildsOf(file: ComposeFile): ReadonlyMap<string, NonNullable<ComposeService['build']>> {
  return new Map(
    Object.values(file).flatMap(({ image, build }) => (build === undefined ? [] : [[image, build] as const])),
  );
}
