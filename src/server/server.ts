import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { performance } from 'node:perf_hooks';
import { setImmediate as pause, setTimeout as sleep } from 'node:timers/promises';
import { type AccessOptions, type Backups, createApi, createRefusalLog, type OidcOptions } from '../api/index.ts';
import type { ServerConfig } from '../config/index.ts';
import { joinHostPort, splitHostPort } from '../config/index.ts';
import {
  type Adoption,
  createChanges,
  createLeader,
  createMirror,
  createWorld,
  type Leader,
  type Mirror,
  objectOf,
  type RetentionLimits,
} from '../control/index.ts';
import { backoffMs } from '../lib/backoff.ts';
import { InvariantError } from '../lib/errors.ts';
import { leaveNote } from '../lib/local-server.ts';
import { type SliceMeter, unmeasured } from '../lib/slices.ts';
import { openTlsFiles, type TlsFiles } from '../lib/tls-files.ts';
import { fleetDrainTimeoutMs, parseObjectKey } from '../model/index.ts';
import { createEventObserver, createNodeObserver, createRefusalObserver, nodeName } from '../observe/index.ts';
import { draftsOf, type Rejection } from '../status/index.ts';
import type { Store } from '../store/store.ts';
import type { Logger } from '../telemetry/log.ts';
import type { RawPatch } from '../translate/index.ts';
import type { Budget } from '../view/index.ts';
import { type Conviction, createHub } from '../xds/index.ts';
import { createAuditedRequests } from './audited-store.ts';
import { type Chronicle, createChronicle } from './chronicle.ts';
import { createCluster } from './cluster.ts';
import { createCommits } from './commits.ts';
import { createDeliveries } from './deliveries.ts';
import { prepareAdmin } from './first-admin.ts';
import { prepareStore } from './first-start.ts';
import { controllerName, programVersion } from './identity.ts';
import { createLeading, type Leading } from './leading.ts';
import { measureStore } from './measured-store.ts';
import { createMeasurements } from './measurements.ts';
import { openMutualTls } from './mutual-tls.ts';
import { untilAvailable } from './open-store.ts';
import type { OpenedStore } from './opened-store.ts';
import { createPorts } from './ports.ts';
import { createStatusSources } from './sources.ts';
import { createTracing, noTracing, type Tracing, type TracingOptions } from './tracing.ts';
import { openXdsDoor } from './xds-door.ts';
import { createProgressFeed } from './xds-feed.ts';

/** A running server. */
export interface Server {
  /** Where REST and xDS are reached, `host:port`, with the ports that were taken. */
  readonly address: string;
  readonly xdsAddress: string;
  /** Stops taking requests, ends the streams so that proxies look for another controller, and closes the store. */
  close(): Promise<void>;
}

export interface ServerOptions {
  readonly config: ServerConfig;
  readonly log: Logger;
  /** The store to use instead of the configured one; closed with the server. */
  readonly store?: Store;
  /** Keys that seal secrets in the store, instead of those of the configured file. */
  readonly dataKeys?: string | undefined;
  /** Called when the server cannot go on: its store has failed. */
  readonly onFailure?: (error: Error) => void;
  /** Aborted to give up a start that waits for its store. */
  readonly signal?: AbortSignal;
  /** For tests: changes Envoy's messages before they are encoded, to make what a proxy refuses. */
  readonly rawPatch?: RawPatch;
  /** For benches: told what holds the event loop. */
  readonly slices?: SliceMeter;
  /** For tests: how long controllers have to take up a new root of the authority. Default a minute. */
  readonly rotationFollowMs?: number;
  /** Makes another admin token although there are some. */
  readonly newAdminToken?: boolean;
  /** Variables that say where this user keeps files; default: those of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** Work of the View on the event loop is cut into slices of this length. */
const sliceMs = 4;

const sweepMs = 5_000;

/** The View of a very large store is built in seconds. */
const restoredLimitMs = 120_000;

const maxEvents = 10_000;

/**
 * Builds the rooms of a server on its store, and hands each what it needs of the others. The order of start: store, first
 * build, then doors; a server that answers has a complete picture. The order of stop is the other way round.
 */
export async function serve(options: ServerOptions, opened: OpenedStore): Promise<Server> {
  const { config, log } = options;
  const newId = (): string => randomUUID();
  const now = (): number => Date.now();
  const { slices = unmeasured } = options;
  const budget: Budget = { sliceMs, now: () => performance.now(), pause: () => pause() };
  const replica = controllerName(config);
  const roles = config.roles.split(',');
  const signal = options.signal ?? new AbortController().signal;
  const available = <T>(task: () => Promise<T>) => untilAvailable(task, { config, log, signal });

  const measurements = createMeasurements();
  const { metrics } = measurements;
  const measured = measureStore(opened.store, metrics);
  const apiLog = log.child({ room: 'api' });
  const audited = createAuditedRequests({ now, log: apiLog });
  const store = audited.store(measured);
  const closers: (() => Promise<unknown>)[] = [() => store.close()];
  const close = async (): Promise<void> => {
    let failure: unknown;
    // What cannot be closed must not keep the store open.
    for (let closer = closers.pop(); closer !== undefined; closer = closers.pop()) {
      await closer().catch((error: unknown) => {
        failure ??= error;
      });
    }
    if (failure !== undefined) throw failure;
  };
  try {
    await available(() => prepareStore(store, { newId, now }));
    const admin =
      config.authentication === 'none'
        ? undefined
        : await available(() =>
            prepareAdmin({
              store,
              folder: config.store === 'memory' ? undefined : config.data,
              anew: options.newAdminToken ?? false,
              newId,
              now,
              log: apiLog,
            }),
          );
    if (admin !== undefined) closers.push(() => admin.close());
    const tls = await openTls(config, log);
    if (tls !== undefined) closers.push(async () => tls.close());
    const world = createWorld(options.rawPatch === undefined ? {} : { rawPatch: options.rawPatch });
    const changes = createChanges();
    const unready = new Set<string>();
    let onAdopted: (adoption: Adoption) => void = () => undefined;
    const mirror = createMirror({
      world,
      store,
      budget,
      slices,
      clock: now,
      log: log.child({ room: 'control' }),
      onAdopted: (adoption) => onAdopted(adoption),
      retry: (attempt, signal) =>
        sleep(backoffMs(attempt, { baseMs: 50, maxMs: 5_000, random: Math.random() }), undefined, { signal }),
    });
    const early: Adoption[] = [];
    onAdopted = (adoption) => void early.push(adoption);
    await available(() => mirror.start());
    closers.push(() => mirror.close());
    const mutualTls = await openMutualTls({
      config,
      store,
      mirror,
      newId,
      now,
      log: log.child({ room: 'pki' }),
      ...(options.rotationFollowMs === undefined ? {} : { followMs: options.rotationFollowMs }),
    });
    if (mutualTls !== undefined) closers.push(() => mutualTls.close());
    const restTls = tls ?? (config.tlsOwn ? mutualTls?.rest : undefined);

    const convictions = [...mirror.records.rejections.values()].flatMap(({ record }) => convictionsOf(record));
    // A proxy whose fleet is gone drains for as long as one that was told nothing.
    const drainMs = fleetDrainTimeoutMs({});
    const hub = createHub({ random: Math.random, identifier: `fairway/${replica}`, convictions, drainMs });
    const deliveries = createDeliveries(hub, nodeName);
    const commits = createCommits(hub.table, (track) => {
      measurements.taken(track);
      tracing.taken(track);
    });
    const tracing = await openTracing(config, { now, commitOf: (revision) => commits.get(revision) }, log);
    closers.push(() => tracing.close());
    const observeLog = log.child({ room: 'observe' });
    let leader: Leader<Leading> | undefined;
    const cluster = createCluster({
      id: replica,
      run: newId(),
      version: programVersion(),
      roles,
      mirror,
      store: measured,
      hub,
      deliveries,
      leading: () => leader?.current,
      onTold: () => leader?.current?.work.progressed(),
      now,
      newId,
      log: observeLog,
    });
    const sources = createStatusSources(mirror, deliveries, cluster);
    const events = createEventObserver({ store, newId, replica, log: observeLog });
    const refusalLog = createRefusalLog({ store, newId, clock: now, log: apiLog });
    closers.push(() => refusalLog.close());
    const chronicle = createChronicle({
      events,
      refusals: refusalLog,
      replica,
      peerOf: (streamId) => hub.fleet.stream(streamId)?.peer,
      now,
    });
    const isShared = store.election !== undefined;
    const nodes = createNodeObserver({
      store,
      newId,
      log: observeLog,
      selfRegistering: config.xdsTls !== 'own',
      onRegistered: (name, { fleet }) => chronicle.joined(name, fleet),
      ...(isShared ? { controller: replica } : {}),
    });
    const refusals = createRefusalObserver({ store, newId, log: observeLog });
    let isOpen = false;
    if (roles.includes('control')) {
      leader = createLeader({
        store,
        candidate: JSON.stringify({ id: replica, run: newId() }),
        begin: (fenced) =>
          createLeading({
            mirror,
            store: fenced,
            conditions: (key, object) => draftsOf(key, object, sources, now()).drafts,
            proxiesKnown: () => deliveries.complete,
            gone: () => cluster.controllers.gone(),
            onConvicted: (object, found) => chronicle.convicted(object, found),
            limits: retentionOf(config),
            now,
            newId,
            budget,
            slices,
            log: log.child({ room: 'control' }),
          }),
        onChange() {
          cluster.led();
          const term = leader?.current?.term;
          if (isShared && term !== undefined) chronicle.tell('BecameLeader', 'it decides for the cluster from now on');
          else if (isShared) chronicle.tell('LostLeadership', 'another controller decides from now on, or none');
          // While it starts, nobody waits for what a leader does.
          if (isOpen) leader?.current?.work.lookAtAll();
        },
        now,
        log: log.child({ room: 'control' }),
      });
    }
    const isOwn = (controller: string | undefined) => !isShared || controller === undefined || controller === replica;
    const returning = [...mirror.records.nodes.values()].filter(
      ({ connected, controller }) => connected && isOwn(controller),
    );
    deliveries.expect(
      returning.map(({ nodeId }) => nodeId),
      now(),
    );
    nodes.reset(mirror.records.nodes, now());
    refusals.reset(mirror.records.rejections.values());
    events.reset(mirror.records.events, now());

    const feed = createProgressFeed({
      deliveries,
      commits,
      nodes,
      refusals,
      measurements,
      objectOf: (key) => objectOf(mirror, key),
      log: log.child({ room: 'xds' }),
      onProgress() {
        cluster.progressed();
        leader?.current?.work.progressed();
      },
      onProxies() {
        cluster.proxiesChanged();
        leader?.current?.work.lookAtAll();
      },
      happened: (event) => chronicle.seen(event),
    });
    const restored = watchRestores(opened.store);
    onAdopted = (adoption) => {
      const settledAt = now();
      measurements.adopted(adoption, settledAt);
      commits.add(adoption.commit, { committedAt: adoption.receivedAt, settledAt });
      hub.commit(adoption.commit);
      deliveries.tableChanged();
      tracing.adopted();
      changes.add(adoption);
      // First those that are shut out: nobody registers a node for the stream that it still has.
      if (mutualTls?.adopted(adoption) === true) reviewPeers();
      for (const { kind, object, last } of adoption.changes) {
        if (kind === 'Node' && object === undefined && last !== undefined) nodes.deleted(last.metadata.name);
      }
      for (const rejection of adoption.over) {
        refusals.over(rejection);
        hub.clear(rejection.type, rejection.name);
      }
      if (restored(adoption.revision)) {
        changes.forget(adoption.revision);
        nodes.restored(mirror.records.nodes, settledAt);
        refusals.restored(mirror.records.rejections.values());
        leader?.current?.work.lookAtAll();
      } else if (isShared) {
        for (const key of adoption.touched) {
          const { kind, name } = parseObjectKey(key);
          if (kind === 'Node') nodes.told(name, mirror.records.nodes.get(name));
        }
        refusals.told(mirror.records.rejections);
      }
      cluster.adopted(adoption);
      leader?.current?.work.adopted(adoption);
    };
    let reviewPeers = (): void => undefined;
    for (const adoption of early) onAdopted(adoption);
    measurements.read({
      world,
      store: measured,
      hub,
      commits,
      revision: () => mirror.revision,
      leadership: () => ({ isLeader: leader?.current !== undefined, term: leader?.current?.term ?? 0 }),
    });
    const stopWriting = () => Promise.all([leader?.close(), nodes.close(), refusals.close(), events.close()]);
    closers.push(() => cluster.close(), stopWriting);

    let xdsAddress = '';
    if (roles.includes('xds')) {
      const door = await openXdsDoor({
        listen: listenOn(config.xdsListen),
        hub,
        store,
        mirror,
        mutualTls,
        onRefused: chronicle.notLetIn,
        metrics,
        slices,
        onProgress: feed,
        now,
        log: log.child({ room: 'xds' }),
      });
      reviewPeers = () => door.reviewPeers();
      xdsAddress = door.address;
      // First the writers: that all streams end with the server is nothing to be recorded.
      closers.push(() => door.close(), stopWriting);
    }
    const sweeping = setInterval(() => {
      if (deliveries.sweep(now())) leader?.current?.work.lookAtAll();
      // Certificates expire without anybody's doing.
      if (mutualTls !== undefined) reviewPeers();
    }, sweepMs);
    sweeping.unref();
    closers.push(async () => clearInterval(sweeping));

    const ports = createPorts({ mirror, changes, commits, deliveries, cluster, sources, hub, budget, now, replica });
    const api = createApi({
      access: accessOf(config),
      ...(restTls === undefined ? {} : { tls: restTls }),
      limits: {
        requestsPerSecond: config.requestsPerSecond,
        requestBurst: 2 * config.requestsPerSecond,
        watchesPerIdentity: config.watchesPerIdentity,
      },
      store: tracing.store(store),
      ports: {
        ...ports,
        ...(mutualTls?.membership === undefined ? {} : { membership: chronicle.telling(mutualTls.membership) }),
        backups: backupsOf(opened, mirror, chronicle),
        viewAgeMs: () => store.silentForMs?.() ?? 0,
        unready: () => [...unready, ...(isWhole(opened, mirror) ? [] : ['the store is being restored from a backup'])],
        metrics: () => metrics.scrape(),
        metricsContentType: metrics.registry.contentType,
      },
      clock: now,
      newId,
      meter: measurements.requests,
      serves: roles.includes('api') ? 'all' : 'health',
      refusals: refusalLog,
      log: apiLog,
    });
    audited.follow(api);
    tracing.follow(api);
    closers.push(() => api.close());
    closers.push(async () => unready.add('the server is stopping'));
    const { host, port } = listenOn(config.listen);
    await api.listen({ host, port });
    const { port: taken } = api.server.address() as AddressInfo;
    const address = joinHostPort(host, taken);
    if (admin !== undefined) {
      const forget = leaveNote(taken, admin.tokenFile, options.env ?? process.env);
      closers.push(async () => forget());
    }
    log.info({ event: 'server_ready', address, xdsAddress, revision: mirror.revision });
    const retiring = opened.retireDataKeys().catch((error: unknown) => {
      log.warn({ event: 'data_keys_not_retired', err: error });
    });
    closers.push(async () => retiring);
    // After all doors are open: nobody waits for it.
    isOpen = true;
    cluster.open({ address, xdsAddress });
    leader?.current?.work.lookAtAll();
    return { address, xdsAddress, close };
  } catch (error) {
    await close();
    throw error;
  }
}

export function accessOf(config: ServerConfig): AccessOptions {
  const { authentication, openMetrics, oidcIssuer } = config;
  const oidc: OidcOptions | undefined =
    oidcIssuer === ''
      ? undefined
      : {
          issuer: oidcIssuer,
          audience: config.oidcAudience,
          usernameClaim: config.oidcUsernameClaim,
          groupsClaim: config.oidcGroupsClaim,
        };
  return { authentication, openMetrics, oidc };
}

export function openTls({ tlsCert, tlsKey, tlsClientCa }: ServerConfig, log: Logger): Promise<TlsFiles> | undefined {
  if (tlsCert === '') return undefined;
  return openTlsFiles({
    paths: { cert: tlsCert, key: tlsKey, ca: tlsClientCa === '' ? undefined : tlsClientCa },
    onFault: (error) => log.error({ event: 'tls_files_unusable', err: error }),
  });
}

/** Whether the View has nothing of what a restore replaces. */
function isWhole({ store }: OpenedStore, mirror: Mirror): boolean {
  return store.wholeSince !== undefined && mirror.revision >= store.wholeSince;
}

/** Says of each adoption whether it is the first one with the content of a backup that was restored meanwhile. */
function watchRestores(store: OpenedStore['store']): (revision: number) => boolean {
  let known = store.wholeSince;
  return (revision) => {
    const { wholeSince } = store;
    if (wholeSince === undefined || wholeSince === known || revision < wholeSince) return false;
    known = wholeSince;
    return true;
  };
}

/** A restore is answered once this controller has taken it in. */
function backupsOf({ backups }: OpenedStore, mirror: Mirror, chronicle: Chronicle): Backups {
  return {
    backup: () => backups.backup(),
    async restore(body, options) {
      const restored = await backups.restore(body, options);
      await mirror.reached(Number(restored.revision), { timeoutMs: restoredLimitMs });
      chronicle.tell('Restored', `everything is as in the backup of ${restored.backup.createdAt}`);
      return restored;
    },
  };
}

/** What proxies refused in earlier runs, and are not to be sent again. */
function convictionsOf({ type, name, words, versions, hash, earlier, acquitted }: Rejection): Conviction[] {
  const hashes = acquitted ? earlier : [...earlier, hash];
  return hashes.flatMap((one) => versions.map((version) => ({ type, name, words, version, hash: one })));
}

export function listenOn(text: string): { host: string; port: number } {
  const split = splitHostPort(text);
  if (split === undefined) throw new InvariantError(`${text} was not checked as host:port`);
  return split;
}

function retentionOf({ auditEntries, auditDays }: ServerConfig): RetentionLimits {
  const audit = { auditWrite: auditEntries, auditRefusal: Math.ceil(auditEntries / 4) };
  return { audit, auditAgeMs: auditDays * 24 * 3_600_000, events: maxEvents };
}

async function openTracing(
  { traces: url }: ServerConfig,
  options: Omit<TracingOptions, 'traces'>,
  log: Logger,
): Promise<Tracing> {
  if (url === '') return noTracing;
  const { openTraces } = await import('../telemetry/traces.ts');
  const onFailure = (error: unknown): void => log.warn({ event: 'traces_not_sent', err: error });
  return createTracing({ ...options, traces: openTraces({ url, replica: hostname(), onFailure }) });
}
