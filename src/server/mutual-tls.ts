/**
 * Mutual TLS of xDS: joins what signs and what identifies (pki) to what is known of nodes (control) and to those who are
 * connected (xds/io).
 */
import { isIP } from 'node:net';
import { hostname, networkInterfaces } from 'node:os';
import type { Membership } from '../api/index.ts';
import type { ServerConfig } from '../config/index.ts';
import type { Adoption, Mirror } from '../control/index.ts';
import { createLatest } from '../lib/latest.ts';
import type { LiveTls, TlsMaterial } from '../lib/tls-files.ts';
import { durationMs, objectKey } from '../model/index.ts';
import {
  type Authority,
  type ControllerSubject,
  createControllerCredentials,
  createIdentify,
  createMembers,
  createRotationKeeper,
  openAuthority,
  openFileCredentials,
  openSignerFiles,
  type RotationKeeper,
} from '../pki/index.ts';
import type { RotationStep } from '../plan/index.ts';
import type { Store } from '../store/store.ts';
import type { Logger } from '../telemetry/log.ts';
import type { XdsServerOptions } from '../xds/io/index.ts';

export interface MutualTls {
  readonly xds: NonNullable<XdsServerOptions['tls']>;
  /** What a REST API that asks for no certificates proves itself with. */
  readonly rest?: LiveTls;
  /** Absent: certificates come from outside. */
  readonly membership?: Membership;
  /** Takes rotations of the own authority to their end, as a leader does. */
  readonly keepRotation?: (fenced: Store) => RotationKeeper;
  /** When what signs here ends, and whether it is time to replace it; absent: nothing signs here. */
  readonly expiry?: () => Authority['expiry'];
  /** Takes in a step of the View; true when nodes are gone or others, so that those connected are to be looked at. */
  adopted(adoption: Adoption): boolean;
  close(): Promise<void>;
}

export interface MutualTlsOptions {
  readonly config: ServerConfig;
  readonly store: Store;
  readonly mirror: Mirror;
  readonly newId: () => string;
  readonly now: () => number;
  readonly log: Logger;
  /** How long controllers have to take up a new root. */
  readonly followMs?: number;
}

/** The longest that a controller may lag behind the store and still be reached by all nodes. */
const defaultFollowMs = 60_000;
/** Longest list of nodes that a rotation waits for. */
const maxNamed = 10;

/** Undefined: xDS is in plain text. */
export async function openMutualTls(options: MutualTlsOptions): Promise<MutualTls | undefined> {
  const { config, log } = options;
  switch (config.xdsTls) {
    case 'none':
      return undefined;
    case 'own':
      return openOwn(options);
    case 'files': {
      const { xdsCert, xdsKey, xdsCa, xdsCrl } = config;
      const files = { cert: xdsCert, key: xdsKey, ca: xdsCa, crl: xdsCrl === '' ? undefined : xdsCrl };
      const credentials = await openFileCredentials(files, { log });
      return {
        xds: tlsOf(options, credentials, { isRevoked: (certificate) => credentials.isRevoked(certificate) }),
        adopted: nodesChanged,
        close: async () => credentials.close(),
      };
    }
  }
}

async function openOwn(options: MutualTlsOptions): Promise<MutualTls> {
  const { config, store, mirror, newId, now, log, followMs = defaultFollowMs } = options;
  const lifeMs = durationMs(config.certificateLife);
  const { caCert, caKey, caRoot } = config;
  const files = caCert === '' ? undefined : await openSignerFiles({ paths: { caCert, caKey, caRoot }, now, log });
  const authority = await openAuthority({ store, newId, now, files }).catch((error: unknown) => {
    files?.close();
    throw error;
  });
  const credentials = await createControllerCredentials({
    authority,
    hosts: ownHosts(config.advertise),
    lifeMs,
    now,
    log,
  });
  const members = createMembers({ store, authority, lifeMs, newId, now, log });
  const input = () => ({ issued: mirror.records.certificates, uidOf: (name: string) => uidOf(mirror, name) });
  const step = () => authority.step({ ...input(), now: now(), followMs });
  const refreshed = createLatest({
    holdOffMs: 0,
    task: async () => void (await authority.refresh()),
    onError: (error) => log.error({ event: 'authority_not_read', err: error }),
  });
  files?.onChange(() => refreshed.nudge());
  let known = mirror.records.authorities.get('nodes');
  return {
    xds: tlsOf(options, credentials, { trustDomain: () => authority.state.record.trustDomain }),
    rest: withoutCa(credentials),
    membership: membershipOf(authority, members, step),
    expiry: () => authority.expiry,
    keepRotation: (fenced) => createRotationKeeper({ authority, members, store: fenced, input, followMs, now, log }),
    adopted(adoption) {
      const record = mirror.records.authorities.get('nodes');
      if (record !== known) {
        known = record;
        refreshed.nudge();
      }
      return nodesChanged(adoption);
    },
    async close() {
      files?.close();
      await Promise.all([refreshed.close(), credentials.close()]);
    },
  };
}

/** Nodes are nobody to the REST API: it asks nobody for their certificates. */
function withoutCa(live: LiveTls): LiveTls {
  const bare = (material: TlsMaterial): TlsMaterial => ({ ...material, ca: undefined });
  return {
    get current() {
      return bare(live.current);
    },
    onChange: (listener) => live.onChange((material) => listener(bare(material))),
  };
}

function tlsOf(
  { mirror, now }: MutualTlsOptions,
  live: LiveTls,
  more: Pick<Parameters<typeof createIdentify>[0], 'trustDomain' | 'isRevoked'>,
): MutualTls['xds'] {
  const identify = createIdentify({
    uidOf: (name) => uidOf(mirror, name),
    newest(node, uid) {
      const record = mirror.records.certificates.get(node);
      return record?.uid === uid ? { fleet: record.fleet, notAfter: Date.parse(record.notAfter) } : undefined;
    },
    ...more,
    now,
  });
  return {
    live,
    identify(certificate) {
      const identity = identify(certificate);
      if (!identity.ok) return identity;
      const { node, fleet } = identity.value;
      return { ok: true, value: { nodeId: node, cluster: fleet } };
    },
  };
}

function membershipOf(
  authority: Authority,
  members: ReturnType<typeof createMembers>,
  stepOf: () => RotationStep,
): Membership {
  return {
    ...members,
    authority: () => ({
      trustDomain: authority.state.record.trustDomain,
      certificates: authority.state.bundle,
      source: authority.isExternal ? 'Files' : 'Own',
      notAfter: new Date(authority.expiry.at).toISOString(),
      expiring: authority.expiry.isNear,
    }),
    rotation() {
      const { roots, serving, signing } = authority.state.record;
      const step = roots.length > 1 ? stepOf() : undefined;
      const nodes = step?.kind === 'wait' ? step.nodes : [];
      return {
        state: roots.length < 2 ? 'Steady' : serving === signing ? 'Serving' : 'Spreading',
        waitingFor: { count: nodes.length, nodes: nodes.slice(0, maxNamed) },
      };
    },
    // The leader goes on from there, once it has heard of it.
    rotate: () => authority.rotate(),
  };
}

/** Whether Node objects were deleted, or made anew in the same step. */
function nodesChanged({ changes }: Adoption): boolean {
  return changes.some(
    ({ kind, object, last }) => kind === 'Node' && last !== undefined && last.metadata.uid !== object?.metadata.uid,
  );
}

function uidOf({ world: { kernel, graph } }: Mirror, name: string): string | undefined {
  return kernel.get(graph.objects.Node, objectKey('Node', undefined, name))?.metadata.uid;
}

/** Names and addresses of this machine, for clients that go by them. */
function ownHosts(advertised: string): ControllerSubject['hosts'] {
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  const ips = addresses.filter(({ scopeid }) => !scopeid).map(({ address }) => address);
  const names = ['localhost', hostname()];
  if (advertised !== '') (isIP(advertised) === 0 ? names : ips).push(advertised);
  return [
    ...[...new Set(names)].map((value) => ({ type: 'dns' as const, value })),
    ...[...new Set(['127.0.0.1', '::1', ...ips])].map((value) => ({ type: 'ip' as const, value })),
  ];
}
