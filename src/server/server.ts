import { createApi, createRefusalLog } from '../api/index.ts';
import { createChanges, createMirror, createWorld, objectOf } from '../control/index.ts';
import { nodeName } from '../observe/index.ts';
import { draftsOf } from '../status/index.ts';
import { createAuditedRequests } from './audited-store.ts';
import { watchExpiry } from './authority-expiry.ts';
import { createCandidacy } from './candidacy.ts';
import { createClosers } from './closers.ts';
import { createCluster } from './cluster.ts';
import { createCommits } from './commits.ts';
import { createDeliveries } from './deliveries.ts';
import { createDeliveryHub } from './delivery-hub.ts';
import { prepareAdmin } from './first-admin.ts';
import { prepareStore } from './first-start.ts';
import { advertisedAddress, programVersion } from './identity.ts';
import { measureStore } from './measured-store.ts';
import { createMeasurements } from './measurements.ts';
import { openMutualTls } from './mutual-tls.ts';
import { createObservers } from './observers.ts';
import type { OpenedStore } from './opened-store.ts';
import { createPorts } from './ports.ts';
import { createRespread } from './respread.ts';
import { accessOf, openRestDoor, openRestTls } from './rest-door.ts';
import { createRestores } from './restores.ts';
import { createRun, type ServerOptions } from './run.ts';
import { createStatusSources } from './sources.ts';
import { createSteps } from './steps.ts';
import { openTracing } from './tracing.ts';
import { openXdsDoor, type XdsDoor } from './xds-door.ts';
import { createProgressFeed } from './xds-feed.ts';

/** A running server. */
export interface Server {
  /** Where REST and xDS are reached, `host:port`, with the ports that were taken. */
  readonly address: string;
  readonly xdsAddress: string;
  /** Stops taking requests, ends the streams so that proxies look for another controller, and closes the store. */
  close(): Promise<void>;
}

const sweepMs = 5_000;

/**
 * Builds the rooms of a server on its store, and hands each what it needs of the others. The order of start: store, first
 * build, then doors; a server that answers has a complete picture. The order of stop is the other way round.
 */
export async function serve(options: ServerOptions, opened: OpenedStore): Promise<Server> {
  const run = createRun(options);
  const { config, replica, roles, now, newId, budget, slices, log } = run;
  const closers = createClosers();
  try {
    // The store, as all rooms are to see it.
    const measurements = createMeasurements();
    const { metrics } = measurements;
    const measured = measureStore(opened.store, metrics);
    const audited = createAuditedRequests({ now, log: run.logOf('api') });
    const store = audited.store(measured);
    closers.add(() => store.close());
    await run.available(() => prepareStore(store, { newId, now }));

    // Who may come in, and what the doors prove themselves with.
    const makeAdmin = () =>
      prepareAdmin({
        store,
        folder: config.store === 'memory' ? undefined : config.data,
        anew: options.newAdminToken ?? false,
        replica,
        newId,
        now,
        log: run.logOf('api'),
      });
    const admin = config.authentication === 'none' ? undefined : await run.available(makeAdmin);
    closers.add(() => admin?.close());
    const restTls = await openRestTls(config, log);
    closers.add(() => restTls?.close());

    // The View.
    const world = createWorld(options.rawPatch === undefined ? {} : { rawPatch: options.rawPatch });
    const changes = createChanges();
    const steps = createSteps();
    const mirror = createMirror({
      world,
      store,
      budget,
      slices,
      clock: now,
      log: run.logOf('control'),
      onAdopted: steps.adopted,
      retry: run.retry,
    });
    await run.available(() => mirror.start());
    closers.add(() => mirror.close());
    const mutualTls = await openMutualTls({
      config,
      store,
      mirror,
      newId,
      now,
      log: run.logOf('pki'),
      ...(options.rotationFollowMs === undefined ? {} : { followMs: options.rotationFollowMs }),
    });
    closers.add(() => mutualTls?.close());
    const tls = restTls ?? (config.tlsOwn ? mutualTls?.rest : undefined);

    // What proxies are sent, and how far they are.
    const hub = createDeliveryHub(mirror, replica);
    const deliveries = createDeliveries(hub, nodeName);
    const commits = createCommits(hub.table, (track) => {
      measurements.taken(track);
      tracing.taken(track);
    });
    const commitOf = (revision: number) => commits.get(revision);
    const tracing = await openTracing(config.traces, { now, commitOf }, log);
    closers.add(() => tracing.close());

    // What is recorded, told to other controllers and decided for all of them.
    const refusalLog = createRefusalLog({ store, newId, clock: now, log: run.logOf('api') });
    closers.add(() => refusalLog.close());
    const observers = createObservers({ run, store, mirror, hub, refusalLog });
    const { chronicle } = observers;
    if (mutualTls?.expiry !== undefined) {
      closers.add(watchExpiry({ expiry: mutualTls.expiry, chronicle, log: run.logOf('pki') }));
    }
    const candidacy = createCandidacy(run);
    const cluster = createCluster({
      id: replica,
      run: run.id,
      version: programVersion(),
      roles,
      mirror,
      store: measured,
      hub,
      deliveries,
      restTls: tls,
      leading: () => candidacy.current,
      onTold: () => candidacy.progressed(),
      onProxies: () => candidacy.lookAtAll(),
      onPeerHeard: (question, outcome) => metrics.peerQuestions.inc({ question, outcome }),
      now,
      newId,
      log: run.logOf('observe'),
    });
    closers.add(() => cluster.close());
    const sources = createStatusSources(mirror, deliveries, cluster);
    const restores = createRestores(opened, mirror, chronicle);
    let xdsDoor: XdsDoor | undefined;
    closers.add(() => xdsDoor?.close());
    // Before the door: that all streams end with the server is nothing to be recorded.
    closers.add(() => Promise.all([candidacy.close(), observers.close()]));
    if (roles.includes('control')) {
      candidacy.stand({
        mirror,
        store,
        conditions: (key, object) => draftsOf(key, object, sources, now()).drafts,
        proxiesKnown: () => deliveries.complete,
        gone: () => cluster.controllers.gone(),
        keepRotation: mutualTls?.keepRotation,
        chronicle,
        onChange: () => cluster.led(),
      });
    }
    observers.takeUp(deliveries);
    const reviewPeers = (): void => xdsDoor?.reviewPeers();
    steps.follow({
      measurements,
      commits,
      hub,
      deliveries,
      tracing,
      changes,
      mutualTls,
      reviewPeers,
      observers,
      restores,
      cluster,
      candidacy,
      now,
    });
    measurements.read({
      world,
      store: measured,
      hub,
      commits,
      revision: () => mirror.revision,
      leadership: () => ({ isLeader: candidacy.current !== undefined, term: candidacy.current?.term ?? 0 }),
    });

    // The door of the proxies.
    if (roles.includes('xds')) {
      xdsDoor = await openXdsDoor({
        listen: config.xdsListen,
        hub,
        store,
        mirror,
        peers: cluster.peers,
        mutualTls,
        onRefused: chronicle.notLetIn,
        metrics,
        slices,
        onProgress: createProgressFeed({
          deliveries,
          commits,
          nodes: observers.nodes,
          refusals: observers.refusals,
          measurements,
          objectOf: (key) => objectOf(mirror, key),
          log: run.logOf('xds'),
          onProgress() {
            cluster.progressed();
            candidacy.progressed();
          },
          onProxies() {
            cluster.proxiesChanged();
            candidacy.lookAtAll();
          },
          happened: (event) => chronicle.seen(event),
        }),
        now,
        log: run.logOf('xds'),
      });
    }
    const sweeping = setInterval(() => {
      if (cluster.sweep()) candidacy.lookAtAll();
      // Certificates expire without anybody's doing.
      if (mutualTls !== undefined) reviewPeers();
    }, sweepMs);
    sweeping.unref();
    closers.add(() => clearInterval(sweeping));

    // The door of the operators.
    const unready = new Set<string>();
    const api = createApi({
      access: accessOf(config),
      ...(tls === undefined ? {} : { tls }),
      limits: {
        requestsPerSecond: config.requestsPerSecond,
        requestBurst: 2 * config.requestsPerSecond,
        watchesPerIdentity: config.watchesPerIdentity,
      },
      store: tracing.store(store),
      ports: {
        ...createPorts({ mirror, changes, commits, deliveries, cluster, sources, hub, budget, now, replica, slices }),
        ...(mutualTls?.membership === undefined ? {} : { membership: chronicle.telling(mutualTls.membership) }),
        backups: restores.backups,
        viewAgeMs: () => store.silentForMs?.() ?? 0,
        unready: () => [...unready, ...(restores.isWhole ? [] : ['the store is being restored from a backup'])],
        metrics: () => metrics.scrape(),
        metricsContentType: metrics.registry.contentType,
      },
      clock: now,
      newId,
      meter: measurements.requests,
      serves: roles.includes('api') ? 'all' : 'health',
      refusals: refusalLog,
      log: run.logOf('api'),
    });
    audited.follow(api);
    tracing.follow(api);
    const restDoor = await openRestDoor(api, {
      listen: config.listen,
      tokenFile: admin?.tokenFile,
      env: options.env,
    });
    closers.add(() => restDoor.close());
    closers.add(() => unready.add('the server is stopping'));

    const { address } = restDoor;
    const xdsAddress = xdsDoor?.address ?? '';
    log.info({ event: 'server_ready', address, xdsAddress, revision: mirror.revision });
    // After all doors are open: nobody waits for it.
    const following = opened.followDataKeys();
    closers.add(() => following.close());
    if (xdsDoor !== undefined) {
      const respread = createRespread({
        ...{ config, self: replica, cluster, deliveries, door: xdsDoor, now },
        log: run.logOf('xds'),
      });
      closers.add(() => respread.close());
    }
    cluster.open({ address: advertisedAddress(config, address), xdsAddress: advertisedAddress(config, xdsAddress) });
    candidacy.open();
    return { address, xdsAddress, close: () => closers.close() };
  } catch (error) {
    await closers.close();
    throw error;
  }
}
