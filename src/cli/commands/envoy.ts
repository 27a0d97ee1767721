import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Command, InvalidArgumentError } from 'commander';
import { parseDuration } from '../../lib/duration.ts';
import { envoyVersion, findEnvoy } from '../../lib/envoy-binary.js';
import { createBootstrap, isNodeName, nodeNameOf } from '../bootstrap.ts';
import { objectPath } from '../client.ts';
import { usableControllers } from '../controller-addresses.ts';
import { runEnvoy } from '../envoy-process.ts';
import { CliError, exitCodes, usageError } from '../failure.ts';
import { type HostPort, parseHostPort } from '../host-port.ts';
import { enrol, renewIdentity } from '../membership/enrol.ts';
import { type ForeignFiles, writeForeignSecrets } from '../membership/identity.ts';
import type { RestServer } from '../membership/registrar.ts';
import { startRenewal } from '../membership/renewal.ts';
import { isMissing } from '../objects.ts';
import { examples } from '../selection.ts';
import type { Session } from '../session.ts';
import type { WireController, WireObject } from '../wire.ts';

/** Where controllers serve xDS when nobody says anything else. */
const xdsPort = 7601;

/** What a fleet that says nothing has, and what holds while no server can be asked. */
const defaultDrainTimeout = '60s';

interface Options {
  readonly fleet?: string;
  readonly node?: string;
  readonly token?: string;
  readonly identity: string;
  readonly insecure?: boolean;
  readonly cert?: string;
  readonly key?: string;
  readonly ca?: string;
  readonly controllerName?: readonly string[];
  readonly xds?: readonly string[];
  readonly admin: string;
  readonly maxConnections: number;
  readonly drainTime?: string;
  readonly envoy?: string;
  readonly printBootstrap?: boolean;
}

export function define(command: Command, session: Session): void {
  command
    .argument('[envoy-args...]', 'further arguments of Envoy, after --')
    .option('--fleet <name>', "fleet to join (default: the token's, or that of the identity)")
    .option('--node <name>', 'name of the node (default: made of the name of this machine)')
    .option('--token <token>', 'join token, needed once (FAIRWAY_JOIN_TOKEN, which nobody else sees)')
    .option('--identity <folder>', 'where key and certificate of this node are kept', '.fairway/node')
    .option(
      '--cert <file>',
      'certificate of this node from elsewhere, instead of a token: PEM, followed when it changes',
    )
    .option('--key <file>', 'the same: its private key')
    .option('--ca <file>', 'the same: CAs of the controllers')
    .option(
      '--controller-name <name>',
      'the same: host, address or URI that a controller must show, repeat it for more (default: the hosts of --xds)',
      (value: string, before: readonly string[] = []) => [...before, value],
    )
    .option('--insecure', 'send the token in plain text to another machine')
    .option(
      '--xds <host:port>',
      `xDS address of a controller, repeat it for more (default: those that the server tells of, or its host, port ${xdsPort})`,
      (value: string, before: readonly string[] = []) => [...before, ...value.split(',')],
    )
    .option('--admin <address:port>', "where Envoy's admin interface listens; port 0: any", '127.0.0.1:9901')
    .option('--max-connections <number>', 'most connections of clients at a time', parseCount, 50_000)
    .option('--drain-time <duration>', "how long connections of what is replaced may go on (default: the fleet's)")
    .option('--envoy <path>', 'binary to run (FAIRWAY_ENVOY; default: the one that the set-up downloads)')
    .option('--print-bootstrap', 'print the bootstrap and run nothing')
    .action(async (extra: readonly string[], options: Options) => {
      session.exitCode = await envoy(session, extra, options);
    });
  examples(command, [
    'fairway envoy --fleet edge',
    'fairway envoy --fleet edge --node edge-1 --xds c1.example:7601 --xds c2.example:7601',
    'fairway envoy --server https://c1.example:7600 --token fwj1.…',
    'fairway envoy --fleet edge --print-bootstrap > envoy.yaml',
    'fairway envoy --fleet edge -- --log-level debug --concurrency 2',
  ]);
}

async function envoy(session: Session, extra: readonly string[], options: Options): Promise<number> {
  const { io } = session;
  const server = await restServer(session);
  const given = await controllersOf(session, options);
  const foreign = foreignFiles(options, given);
  const folder = resolve(options.identity);
  const identity =
    foreign !== undefined
      ? undefined
      : await enrol({
          folder,
          server,
          token: options.token ?? io.env['FAIRWAY_JOIN_TOKEN'],
          node: options.node === undefined ? undefined : nodeOf(options),
          fleet: options.fleet === undefined ? undefined : fleetOf(options),
          insecure: options.insecure === true,
          now: io.now(),
        });
  if (foreign !== undefined) await writeForeignSecrets(folder, foreign);
  const { node, fleet } = identity ?? { node: nodeOf(options), fleet: fleetOf(options) };
  const controllers =
    options.xds !== undefined || foreign !== undefined
      ? given
      : await allControllers(session, given, identity?.controllers);
  const bootstrap = createBootstrap({
    node,
    fleet,
    ...(identity === undefined && foreign === undefined ? {} : { secrets: folder }),
    controllers,
    admin: parseHostPort(options.admin, 'address of an admin interface'),
    maxConnections: options.maxConnections,
  });
  if (options.printBootstrap === true) {
    io.out.write(bootstrap);
    return exitCodes.ok;
  }
  const drainTimeoutMs = await drainTimeoutOf(session, options, fleet, identity?.drainTimeout);
  const path = options.envoy ?? (await envoyPath());
  const renewal =
    identity === undefined
      ? undefined
      : startRenewal({
          identity,
          renew: (present) => renewIdentity(folder, server, present),
          note: (text) => io.err.write(`fairway: ${text}\n`),
          now: io.now,
          random: Math.random,
        });
  const temporary = mkdtempSync(join(tmpdir(), 'fairway-envoy-'));
  try {
    const file = join(temporary, 'bootstrap.yaml');
    writeFileSync(file, bootstrap);
    chmodSync(file, 0o600);
    return await runEnvoy(path, envoyArguments(file, drainTimeoutMs, extra)).catch((error: unknown) => {
      throw new CliError(exitCodes.refused, `Envoy at ${path} cannot be run: ${(error as Error).message}`);
    });
  } finally {
    await renewal?.close();
    rmSync(temporary, { recursive: true, force: true });
  }
}

/** Arguments of Envoy. What its caller gives wins over what is set here, since Envoy takes no argument twice. */
export function envoyArguments(file: string, drainTimeoutMs: number, extra: readonly string[]): string[] {
  const given = (...names: string[]) => extra.some((word) => names.some((name) => word.split('=')[0] === name));
  const restart = given('--base-id', '--base-id-path', '--use-dynamic-base-id', '--restart-epoch');
  return [
    '-c',
    file,
    ...(given('--drain-time-s') ? [] : ['--drain-time-s', String(Math.max(1, Math.round(drainTimeoutMs / 1000)))]),
    // A line of log for each address range of a policy otherwise, at each update.
    ...(given('--component-log-level') ? [] : ['--component-log-level', 'misc:error']),
    // Hot restart needs memory that all Envoys of the machine would share.
    ...(restart || given('--disable-hot-restart') ? [] : ['--disable-hot-restart']),
    ...extra,
  ];
}

function parseCount(text: string): number {
  if (!/^[1-9][0-9]{0,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number, 1 or more.');
  return Number(text);
}

function nodeOf({ node }: Options): string {
  if (node !== undefined) {
    if (isNodeName(node)) return node;
    throw usageError(`"${node}" is no name of a node: lower-case letters, digits and -, at most 63 characters`);
  }
  const name = nodeNameOf(hostname());
  if (name === undefined)
    throw usageError('No name of a node can be made of the name of this machine: give one, --node');
  return name;
}

function fleetOf({ fleet }: Options): string {
  if (fleet === undefined) throw usageError('A fleet is needed: give its name, --fleet, or a join token, --token');
  if (isNodeName(fleet)) return fleet;
  throw usageError(`"${fleet}" is no name of a fleet: lower-case letters, digits and -, at most 63 characters`);
}

async function controllersOf(session: Session, { xds }: Options): Promise<HostPort[]> {
  if (xds !== undefined) return xds.map((text) => parseHostPort(text, 'xDS address', xdsPort));
  const { server } = await session.context();
  return [{ host: new URL(server).hostname.replace(/^\[|\]$/g, ''), port: xdsPort }];
}

/** Those that the server tells of, to members and to whoever may see them; `given` where it tells of none that are of use. */
async function allControllers(
  session: Session,
  given: HostPort[],
  toldToMember: readonly string[] | undefined,
): Promise<HostPort[]> {
  const [{ host }] = given as [HostPort];
  const told = toldToMember ?? (await controllersTold(session).catch(() => undefined));
  return usableControllers(told, host) ?? given;
}

async function controllersTold(session: Session): Promise<readonly string[]> {
  const client = await session.client();
  const answer = await client.request('GET', '/v1/controllers', { timeoutMs: fleetTimeoutMs });
  const { items } = answer as { readonly items: readonly WireController[] };
  return items.flatMap(({ xdsAddress = '' }) => (xdsAddress === '' ? [] : xdsAddress));
}

async function restServer(session: Session): Promise<RestServer> {
  const { server: url, tls } = await session.context();
  if (tls?.ca === undefined) return { url };
  try {
    return { url, ca: readFileSync(tls.ca, 'utf8') };
  } catch (cause) {
    throw usageError(`${tls.ca} cannot be read: ${(cause as Error).message}`);
  }
}

/** Undefined: none are given. */
function foreignFiles(options: Options, controllers: readonly HostPort[]): ForeignFiles | undefined {
  const { cert, key, ca, token, controllerName } = options;
  if (cert === undefined && key === undefined && ca === undefined) return undefined;
  if (cert === undefined || key === undefined || ca === undefined) {
    throw usageError('Certificates from elsewhere are three files: --cert, --key and --ca');
  }
  if (token !== undefined) throw usageError('A node has a token, or certificates from elsewhere, not both');
  return {
    certificate: resolve(cert),
    key: resolve(key),
    ca: resolve(ca),
    // Other nodes have certificates of the same CAs, and must not pass for controllers.
    controllers: controllerName ?? controllers.map(({ host }) => host),
  };
}

/** A proxy starts without its controllers too, so this asks once and does not insist. */
const fleetTimeoutMs = 2000;

/** `told`: what a member learned when it got its certificate. It has no right to read the Fleet, as a rule. */
async function drainTimeoutOf(
  session: Session,
  { drainTime }: Options,
  fleet: string,
  told: string | undefined,
): Promise<number> {
  if (drainTime !== undefined) return durationOf(drainTime);
  const note = (text: string) => session.io.err.write(`fairway: ${text}\n`);
  try {
    const client = await session.client();
    const path = objectPath('Fleet', '', fleet);
    const { spec } = (await client.request('GET', path, { timeoutMs: fleetTimeoutMs })) as WireObject;
    const { drainTimeout } = spec;
    return durationOf(typeof drainTimeout === 'string' ? drainTimeout : defaultDrainTimeout);
  } catch (error) {
    if (!(error instanceof CliError) || error.exitCode === exitCodes.usage) throw error;
    if (told !== undefined && !isMissing(error)) return durationOf(told);
    note(
      isMissing(error)
        ? `there is no fleet ${fleet} yet: this Envoy serves nothing until there is`
        : `${error.message}; drain time ${defaultDrainTimeout}`,
    );
    return durationOf(defaultDrainTimeout);
  }
}

function durationOf(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw usageError(`"${text}" is no duration such as 30s or 1m30s`);
  return ms;
}

/** The binary, downloaded first when there is none. */
async function envoyPath(): Promise<string> {
  const found = findEnvoy();
  if (found !== undefined) return found.path;
  const setup = fileURLToPath(new URL('../../bin/setup.js', import.meta.url));
  const code = await new Promise<number | null>((resolve, reject) => {
    // Its progress belongs to people, standard output to what was asked for.
    const child = spawn(process.execPath, [setup, 'envoy'], { stdio: ['ignore', process.stderr, process.stderr] });
    child.once('error', reject);
    child.once('exit', resolve);
  });
  const downloaded = code === 0 ? findEnvoy() : undefined;
  if (downloaded !== undefined) return downloaded.path;
  throw new CliError(exitCodes.refused, `There is no Envoy ${envoyVersion} on this machine`, {
    hint: 'Name one with --envoy or FAIRWAY_ENVOY.',
  });
}
