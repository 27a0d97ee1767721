/**
 * The rows of the graph: the middle form between what operators wrote and what Envoy is told. `translate` renders
 * these and decides nothing; every choice that an operator could argue about has been made here.
 */
import type {
  BackendPoolSpec,
  CertificateSpec,
  DefaultAction,
  Kind,
  Listener,
  ObjectKey,
  PoolHash,
  Rule,
  SpecOf,
  VirtualServiceSpec,
} from '../model/index.ts';

/** Which of two objects stands in the other's way: the older one. Revision of the creation, then the key. */
export interface Age {
  readonly createdRevision: number;
  readonly key: ObjectKey;
}

/**
 * What of an object is in force: its spec, or, where proxies refused that, its last good form. Absent when the
 * object is withheld (refused and never good).
 */
export interface Effective<K extends Kind = Kind> {
  readonly key: ObjectKey;
  readonly age: Age;
  /** Empty for global kinds. */
  readonly scope: string;
  /** Generation of the spec in force. */
  readonly generation: number;
  readonly spec: SpecOf<K>;
}

/** Written by the leader when proxies refused a generation of an object. */
export interface Pin {
  /** Of the object that it holds for; a later one of the same name is another. */
  readonly uid: string;
  /** The generation that was refused: the pin holds for this one only, so that a newer one is tried. */
  readonly refused: number;
  /** The last good form; undefined when there never was one. */
  readonly good: { readonly generation: number; readonly spec: unknown } | undefined;
}

/** Members that left a pool and are still with the proxies, so that what they have begun may end. */
export interface Drain {
  readonly members: readonly DrainingMember[];
}

export interface DrainingMember {
  readonly address: string;
  readonly port: number;
  /** Generation of the pool that left the member out, or a later one. */
  readonly generation: number;
}

/** What others need to know of a listener of a virtual service; unchanged by an edit of its rules. */
export interface ListenerFacts {
  readonly name: string;
  readonly protocol: 'HTTP' | 'HTTPS' | 'TCP';
  readonly port: number;
  /** Lower case; undefined: all hosts. */
  readonly hosts: readonly string[] | undefined;
  /** Key of its route table; undefined for TCP. */
  readonly table: string | undefined;
  /** Scopes whose Routes may attach. */
  readonly allowedScopes: readonly string[];
  /** Patterns that cover the hosts of attached Routes; undefined: all. */
  readonly allowedHosts: readonly string[] | undefined;
}

export interface ServiceFacts {
  readonly key: ObjectKey;
  readonly age: Age;
  readonly scope: string;
  /** Name of the fleet, whether or not it exists. */
  readonly fleet: string;
  readonly fleetExists: boolean;
  readonly enabled: boolean;
  readonly listeners: readonly ListenerFacts[];
  /** What it listens on: each address with each port once. */
  readonly sockets: readonly SocketFacts[];
}

export interface SocketFacts {
  readonly address: string;
  readonly port: number;
  /** See `socketKey`. */
  readonly key: string;
  /** See `claimKey`. */
  readonly claim: string;
}

/** Who serves (fleet, address, port), or stands in the way of it. */
export interface SocketOwner {
  readonly owner: ObjectKey;
}

/** Something that keeps a reference, an attachment or a claim from working. Data for conditions. */
export interface Problem {
  readonly reason: string;
  readonly message: string;
}

/** A rule with its pools resolved to clusters. */
export interface ResolvedRule {
  readonly rule: Rule;
  readonly target: Target;
}

/** The pools of a forward, resolved. Empty for other actions. */
export interface Target {
  /** In the order written; pools that are missing or not allowed are `unavailableCluster`. */
  readonly clusters: readonly WeightedCluster[];
  /** What the pools with a hashing algorithm choose a member by; without repetition. */
  readonly hashes: readonly PoolHash[];
  /** The pools that these come from: a rule that proxies refuse may be refused for their sake. */
  readonly hashing: readonly HashingPool[];
}

/** A pool that chooses members by a hash, which its generation says what it is made of. */
export interface HashingPool {
  readonly pool: ObjectKey;
  readonly generation: number;
  readonly hash: PoolHash;
}

export interface WeightedCluster {
  readonly cluster: string;
  readonly weight: number;
}

/** Where the hosts of a rule set are claimed. */
export interface Attachment {
  readonly service: ObjectKey;
  readonly listener: string;
  readonly table: string;
  /** Lower case; `*` for all. Already narrowed to what the listener serves and allows. */
  readonly hosts: readonly string[];
}

/** Rules that claim hosts together: a Route, or one inline entry of a listener. */
export interface RuleSet {
  readonly key: string;
  /** The object it came from. */
  readonly unit: ObjectKey;
  readonly generation: number;
  readonly age: Age;
  readonly scope: string;
  readonly attachments: readonly Attachment[];
  readonly rules: readonly ResolvedRule[];
  /** References of rules that do not work. */
  readonly problems: readonly Problem[];
  /** Attachments that do not work, with the place. */
  readonly detached: readonly (Problem & { readonly service: ObjectKey; readonly listener: string | undefined })[];
}

/** Who has a host of a route table: the object with the oldest claim, for all of its scope. */
export interface HostOwner {
  readonly unit: ObjectKey;
  readonly scope: string;
}

/** One host of one route table. */
export interface VirtualHostRow {
  readonly table: string;
  readonly host: string;
  /** Keys of the rule sets that serve it, oldest first (inline entries in the order written). */
  readonly sets: readonly string[];
  /** The listener whose default action ends it. */
  readonly service: ObjectKey;
  readonly listener: string;
}

/** What the HTTP and HTTPS listeners of a service do with requests that no rule matched. */
export interface DefaultActionsRow {
  readonly unit: ObjectKey;
  readonly generation: number;
  readonly listeners: readonly ListenerDefault[];
}

export interface ListenerDefault {
  /** Of the listener. */
  readonly name: string;
  /** Undefined: 404. */
  readonly action: DefaultAction | undefined;
  readonly target: Target;
}

/** One Envoy listener: what one service serves at one address and port. */
export interface ListenerRow {
  readonly service: ObjectKey;
  readonly generation: number;
  readonly audience: string;
  /** Undefined: every address of the node. */
  readonly address: string | undefined;
  readonly port: number;
  readonly chains: readonly ChainRow[];
  readonly spec: VirtualServiceSpec;
}

export type ChainRow =
  | {
      readonly kind: 'http';
      /** The service's listeners in it, in the order written; HTTP listeners that share the port share the chain. */
      readonly listeners: readonly Listener[];
      readonly table: string;
      /** Undefined: plain HTTP. */
      readonly tls:
        | { readonly secrets: readonly string[]; readonly serverNames: readonly string[] | undefined }
        | undefined;
    }
  | { readonly kind: 'tcp'; readonly listener: Listener; readonly target: Target };

/**
 * What the proxies of a service's fleet have of it, all its chains together. Unchanged by an edit that leaves all of
 * these names as they are: the generation is read from the object.
 */
export interface ServedRow {
  readonly service: ObjectKey;
  readonly fleet: string;
  readonly audience: string;
  /** Keys of the route tables that chains name, each once. */
  readonly tables: readonly string[];
  /** Whether there are chains of the sort, which decides about the slots for policy. */
  readonly http: boolean;
  readonly tcp: boolean;
  /** Names of secrets and clusters that the service itself leads to, each once and sorted. */
  readonly secrets: readonly string[];
  readonly pools: readonly string[];
}

/** A pool that some fleet uses. */
export interface PoolRow {
  readonly pool: ObjectKey;
  readonly generation: number;
  readonly audience: string;
  readonly spec: BackendPoolSpec;
  /** Members that have left it and may end what they have begun, in the order of their addresses. */
  readonly leaving: readonly { readonly address: string; readonly port: number }[];
  /** Names of secrets, where references of `tls` work. */
  readonly caSecret: string | undefined;
  readonly clientSecret: string | undefined;
  /** A reference of `tls` that does not work: connections must fail, never go without the check that was asked for. */
  readonly tlsBroken: boolean;
}

/** A certificate that some fleet uses. */
export interface SecretRow {
  readonly certificate: ObjectKey;
  readonly generation: number;
  readonly audience: string;
  readonly spec: CertificateSpec;
}

/** The audiences of a fleet's proxies, sorted. */
export interface FleetAudiences {
  readonly fleet: string;
  readonly audiences: readonly string[];
}

/** A condition without its time, as far as it follows from the objects alone. */
export interface Verdict {
  readonly type: 'Accepted' | 'ResolvedRefs';
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

export interface Verdicts {
  readonly conditions: readonly Verdict[];
  /** Of a Route: what became of each attachment. */
  readonly attachments?: readonly {
    readonly virtualService: string;
    readonly listener: string | undefined;
    readonly hosts: readonly string[];
    readonly accepted: boolean;
    readonly reason: string;
    readonly message: string;
  }[];
}
