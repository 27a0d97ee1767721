/**
 * Every metric of our own, in the order of the README: what there is, what it says, how it is told apart. The
 * instruments (metrics.ts) are made of this table, and a test holds the README to it. Labels have few values: kinds,
 * types, codes and patterns of paths, never names of objects or proxies.
 */

export interface MetricInfo {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
  /** Upper bounds of a histogram, in seconds. */
  readonly buckets?: readonly number[];
}

/** Of work in this process, and of a store that waits for a disk or a network. */
const quick = [0.0001, 0.0005, 0.001, 0.005, 0.02, 0.1, 0.5, 2];
const usual = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
/** Until proxies have it: those that warm a cluster take their time. */
const patient = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 15, 60];

export const metricTable = {
  requests: {
    name: 'fairway_api_requests_total',
    type: 'counter',
    help: 'REST requests by method and status; aborted: the client went away first',
    labels: ['method', 'code'],
  },
  requestSeconds: {
    name: 'fairway_api_request_seconds',
    type: 'histogram',
    help: 'Time from a REST request to the end of its answer, by pattern of the path; without watches',
    labels: ['method', 'route', 'code'],
    buckets: usual,
  },
  requestsInFlight: {
    name: 'fairway_api_requests_in_flight',
    type: 'gauge',
    help: 'REST requests being answered, without watches',
    labels: [],
  },
  watches: { name: 'fairway_api_watches', type: 'gauge', help: 'Open watches', labels: [] },

  storeRevision: {
    name: 'fairway_store_revision',
    type: 'gauge',
    help: 'Newest revision of the store that this controller has heard of',
    labels: [],
  },
  storeCommits: {
    name: 'fairway_store_commits_total',
    type: 'counter',
    help: 'Transactions answered by the store: committed, or conflict where a check did not hold',
    labels: ['outcome'],
  },
  storeCommitSeconds: {
    name: 'fairway_store_commit_seconds',
    type: 'histogram',
    help: 'Time until a transaction was durable',
    labels: [],
    buckets: usual,
  },
  storeWrites: {
    name: 'fairway_store_writes_total',
    type: 'counter',
    help: 'Keys put or deleted by this controller, by kind of data',
    labels: ['data'],
  },
  storeErrors: {
    name: 'fairway_store_errors_total',
    type: 'counter',
    help: 'Calls of the store that failed, by call and error code',
    labels: ['call', 'code'],
  },

  leader: { name: 'fairway_leader', type: 'gauge', help: '1 on the controller that decides, else 0', labels: [] },
  leaderTerm: {
    name: 'fairway_leader_term',
    type: 'gauge',
    help: 'Term of the leader that this controller knows',
    labels: [],
  },

  peerQuestions: {
    name: 'fairway_controller_questions_total',
    type: 'counter',
    help: 'Questions to other controllers about their proxies, by question and outcome: answered, unanswered',
    labels: ['question', 'outcome'],
  },

  viewRevision: {
    name: 'fairway_view_revision',
    type: 'gauge',
    help: 'Store revision that this View has reached',
    labels: [],
  },
  viewLag: {
    name: 'fairway_view_lag_revisions',
    type: 'gauge',
    help: 'Revisions of the store that this View has not taken in',
    labels: [],
  },
  adoptionSeconds: {
    name: 'fairway_view_adoption_seconds',
    type: 'histogram',
    help: 'Time from learning of store commits to having them in the View',
    labels: [],
    buckets: quick,
  },
  objects: { name: 'fairway_objects', type: 'gauge', help: 'Objects in the View', labels: ['kind'] },

  kernelRows: {
    name: 'fairway_kernel_rows',
    type: 'gauge',
    help: 'Rows held by the kernel, absent ones that were read too',
    labels: ['collection'],
  },
  recomputed: {
    name: 'fairway_kernel_recomputed_total',
    type: 'counter',
    help: 'Rows computed anew because something that they read had changed',
    labels: ['collection'],
  },
  settleSeconds: {
    name: 'fairway_kernel_settle_seconds',
    type: 'histogram',
    help: 'Time in which the kernel computed all that store commits changed, with its pauses for others',
    labels: [],
    buckets: quick,
  },
  kernelFailures: {
    name: 'fairway_kernel_failures',
    type: 'gauge',
    help: 'Rows whose computation throws: bugs, each confined to its row',
    labels: [],
  },

  streams: { name: 'fairway_xds_streams', type: 'gauge', help: 'Open xDS streams', labels: ['protocol'] },
  sent: { name: 'fairway_xds_sent_total', type: 'counter', help: 'Responses sent to proxies', labels: ['type'] },
  sentBytes: {
    name: 'fairway_xds_sent_bytes_total',
    type: 'counter',
    help: 'Bytes of the responses sent to proxies',
    labels: ['type'],
  },
  acks: {
    name: 'fairway_xds_acks_total',
    type: 'counter',
    help: 'Responses that proxies acknowledged',
    labels: ['type'],
  },
  nacks: { name: 'fairway_xds_nacks_total', type: 'counter', help: 'Responses that proxies refused', labels: ['type'] },
  rejections: {
    name: 'fairway_xds_rejections_total',
    type: 'counter',
    help: 'Resources refused by proxies',
    labels: ['type', 'scope'],
  },
  ackLagSeconds: {
    name: 'fairway_xds_ack_lag_seconds',
    type: 'histogram',
    help: 'Time from learning of a commit to its acknowledgement by the last proxy concerned',
    labels: [],
    buckets: patient,
  },
  commitsWaiting: {
    name: 'fairway_xds_commits_waiting',
    type: 'gauge',
    help: 'Commits that some proxy concerned has not acknowledged',
    labels: [],
  },
  slowStreams: {
    name: 'fairway_xds_slow_streams',
    type: 'gauge',
    help: 'Open xDS streams whose proxy has not taken the last response for 5 s',
    labels: [],
  },
  cutStreams: {
    name: 'fairway_xds_cut_streams_total',
    type: 'counter',
    help: 'xDS streams ended because the proxy took nothing for a minute',
    labels: [],
  },
  stalls: {
    name: 'fairway_xds_stalls_total',
    type: 'counter',
    help: 'Times a proxy did not answer, or needed something, past its deadline',
    labels: ['reason'],
  },

  reports: {
    name: 'fairway_reports_total',
    type: 'counter',
    help: 'What was seen of proxies, by kind: opened, filled, acked, rejected, withheld, proven, foreign, stalled, closed',
    labels: ['kind'],
  },
} as const satisfies Readonly<Record<string, MetricInfo>>;
